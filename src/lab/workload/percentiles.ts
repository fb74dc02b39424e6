/** The p50 and p99 of latencies, in milliseconds. */
import { createHistogram } from 'node:perf_hooks';

export function percentiles(milliseconds: readonly number[]) {
  if (milliseconds.length === 0) return { p50: 0, p99: 0 };
  const histogram = createHistogram();
  for (const value of milliseconds) histogram.record(Math.max(1, Math.round(value * 1_000)));
  const at = (percentile: number) => Math.round(histogram.percentile(percentile) / 100) / 10;
  return { p50: at(50), p99: at(99) };
}
