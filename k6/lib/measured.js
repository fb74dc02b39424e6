// Was the load sent, and did its answers come? A load that was not there proves nothing: then the
// run could not tell, whatever the audit says.
import { figure, markOf } from './marks.js';
import { mostMissedPercent } from './settings.js';

const dropped = {
  metric: 'dropped_iterations',
  sentence: 'k6 could begin its load',
  missed: 'iterations were dropped',
};
const unsent = {
  metric: 'no_connection',
  sentence: 'k6 could connect',
  missed: 'requests found no connection',
};
const unknown = {
  metric: 'unknown',
  sentence: 'the answers are known',
  missed: 'outcomes are unknown',
};

/**
 * A plan has the number of `iterations`, and of `purchases` where an iteration is not one purchase.
 * Where faults are meant to keep answers away, only the iterations count.
 */
const rowsOf = ({ iterations, purchases = iterations, isWithFaults = false }) => {
  const share = (all) => Math.floor((all * mostMissedPercent) / 100);
  const answers = isWithFaults ? [] : [unsent, unknown];
  return [
    { ...dropped, most: share(iterations) },
    ...answers.map((row) => ({ ...row, most: share(purchases) })),
  ];
};

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
