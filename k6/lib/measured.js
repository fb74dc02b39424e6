// Was the load sent, and did its answers come? A load that was not there proves nothing: then the
// run could not tell, whatever the audit says.
import { figure, markOf } from './marks.js';
import { mostMissedPercent } from './settings.js';

/** `attempts` are planned. Unknown outcomes are no doubt where faults are meant to cause them. */
const rowsOf = ({ attempts, isWithFaults }) =>
  [
    {
      metric: 'dropped_iterations',
      sentence: 'k6 could send its load',
      missed: 'iterations were dropped',
    },
    ...(isWithFaults
      ? []
      : [{ metric: 'unknown', sentence: 'the answers are known', missed: 'outcomes are unknown' }]),
  ].map((row) => ({ ...row, most: Math.floor((attempts * mostMissedPercent) / 100) }));

export const measuredThresholds = (plan) =>
  Object.fromEntries(rowsOf(plan).map(({ metric, most }) => [metric, [`count<=${most}`]]));

/** ✓ or ?: what was missed breaks no promise. */
export const measuredLines = (data, plan) => [
  '',
  'MEASUREMENT  without it, nothing is shown',
  ...rowsOf(plan).map(({ metric, sentence, missed, most }) => {
    const mark = markOf(data, metric) === '✓' ? '✓' : '?';
    return `  ${mark} ${sentence}: ${figure(data, metric)} ${missed}, at most ${most} may be`;
  }),
];
