// Was the load sent, and did its answers come? A load that was not there proves nothing: then the
// run could not tell, whatever the audit says.
import { figure } from './marks.js';
import { missedPercentMax } from './settings.js';

/** From the first iteration's begin to the last one's end. */
export const secondsOf = (data) =>
  (figure(data, 'load_moment', 'max') - figure(data, 'load_moment', 'min')) / 1000;

const share = (all) => Math.floor((all * missedPercentMax) / 100);

/** The plan of one of several generators; `part` is that of --execution-segment: 0:1/2. */
export function planOfPart(plan, part) {
  const [from, to] = part.includes(':') ? part.split(':').map(fraction) : [0, fraction(part)];
  const ofAll = (all) => all && Math.round(all * (to - from));
  return { ...plan, iterations: ofAll(plan.iterations), purchases: ofAll(plan.purchases) };
}

/** 1/2, 0.5 or 50%. */
function fraction(text) {
  const [over, under = 1] = text.split('/');
  return text.endsWith('%') ? Number.parseFloat(text) / 100 : Number(over) / Number(under);
}

/** What was planned, begun, dropped because all virtual users waited, and interrupted. */
export function iterationsOf(data, { iterations: planned }) {
  const begun = figure(data, 'iterations_begun');
  // k6 may also drop some that no plan has, at the end.
  const missing = Math.max(0, planned - begun);
  const dropped = Math.min(figure(data, 'dropped_iterations'), missing);
  const interrupted = begun - figure(data, 'iterations_ended');
  const isCutShort = begun + dropped < planned - share(planned);
  return { planned, begun, dropped, interrupted, isInterrupted: isCutShort || interrupted > 0 };
}

/**
 * A plan has the number of `iterations`, and of `purchases` where an iteration is not one purchase.
 * Where faults are meant to keep answers away, only the iterations count.
 */
function answersOf({ iterations, purchases = iterations, isWithFaults = false }) {
  if (isWithFaults) return [];
  const most = share(purchases);
  return [
    { metric: 'no_connection', sentence: 'k6 could connect', missed: 'found no connection', most },
    { metric: 'unknown', sentence: 'the answers are known', missed: 'outcomes are unknown', most },
  ];
}

/** For `k6 run` alone, which knows thresholds only. */
export const measuredThresholds = (plan) => ({
  iterations_begun: [`count>=${plan.iterations - share(plan.iterations)}`],
  ...Object.fromEntries(answersOf(plan).map(({ metric, most }) => [metric, [`count<=${most}`]])),
});

function sentLine(data, plan) {
  const { planned, begun, dropped } = iterationsOf(data, plan);
  const mark = planned - begun <= share(planned) ? '✓' : '?';
  return `  ${mark} the load was sent: ${begun} of ${planned} iterations begun, ${dropped} dropped`;
}

/** An iteration that was interrupted left an unknown outcome. */
function endedLine(data, plan) {
  const { interrupted } = iterationsOf(data, plan);
  const mark = interrupted <= share(plan.iterations) ? '✓' : '?';
  return `  ${mark} what was begun has ended: ${interrupted} iterations were interrupted`;
}

/** ✓ or ?: what was missed breaks no promise. */
export const measuredLines = (data, plan) => [
  '',
  `MEASUREMENT  without it, nothing is shown (at most ${missedPercentMax} % may be missing)`,
  sentLine(data, plan),
  endedLine(data, plan),
  ...answersOf(plan).map(({ metric, sentence, missed, most }) => {
    const count = figure(data, metric);
    return `  ${count <= most ? '✓' : '?'} ${sentence}: ${count} ${missed}`;
  }),
];
