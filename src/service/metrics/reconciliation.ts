/** What the last reconciliation of this process found. */
import { Counter, Gauge } from '@prometheus-io/client';
import { registers } from './registry.ts';

const differences = new Gauge({
  name: 'lockstep_reconcile_differences',
  help: 'Differences between Redis and MySQL that two readings in a row had, by identity',
  registers,
  labelNames: ['identity'],
});
const finishedAt = new Gauge({
  name: 'lockstep_reconcile_finished_timestamp_seconds',
  help: 'When the last reconciliation came to its end',
  registers,
});
const seconds = new Gauge({
  name: 'lockstep_reconcile_seconds',
  help: 'How long the last reconciliation took',
  registers,
});
const failures = new Counter({
  name: 'lockstep_reconcile_failures_total',
  help: 'Reconciliations that came to no end: a store did not answer, or Redis was being rebuilt',
  registers,
});

/** @param counts how many differences there are of each identity, also when there are none */
export function countReconciliation(counts: Readonly<Record<string, number>>, ms: number): void {
  for (const [identity, count] of Object.entries(counts)) differences.set({ identity }, count);
  finishedAt.setToCurrentTime();
  seconds.set(ms / 1_000);
}

export const countFailedReconciliation = (): void => failures.inc();
