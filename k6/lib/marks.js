// The marks of the summary: ✓, ✗ or ?, from k6's data. This file imports nothing, so that a test
// can load it without k6.

/** A figure of a metric; 0 when nothing was counted. */
export const figure = (data, metric, name = 'count') => data.metrics[metric]?.values[name] ?? 0;

const notMeasured = '?';

/**
 * ✓ or ✗, as the thresholds of the metric say. k6 has every metric that has a threshold, counted or
 * not: without one, nothing was measured, and nothing is known.
 */
export function markOf(data, metric) {
  const thresholds = Object.values(data.metrics[metric]?.thresholds ?? {});
  if (thresholds.length === 0) return notMeasured;
  return thresholds.every(({ ok }) => ok) ? '✓' : '✗';
}

/** The line of a promise. An `audited` promise is unknown without a verdict of the audit. */
export function promiseLine(data, promise, isAudited) {
  const { metric, audited, sentence, numbers, isKnown = () => true } = promise;
  const count = (name) => figure(data, name);
  const mark = markOf(data, metric);
  if (mark === notMeasured) return `  ? ${sentence}: not measured`;
  const known = (audited && !isAudited) || !isKnown(count) ? '?' : mark;
  return `  ${known} ${sentence}: ${numbers(count)}`;
}
