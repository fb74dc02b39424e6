/** How purchases ended in this process, and how long they and their locks took. */
import { Counter, Histogram } from 'prom-client';
import { type Outcome, refusalReasons } from '../domain.ts';
import { registers } from './registry.ts';

const purchases = new Counter({
  name: 'lockstep_purchases_total',
  help: 'Purchases by outcome: accepted, unknown, or the reason of the refusal',
  registers,
  labelNames: ['rung', 'outcome'],
});
const seconds = new Histogram({
  name: 'lockstep_purchase_seconds',
  help: 'From the order id to the outcome of a purchase',
  registers,
  labelNames: ['rung'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
});
const lockWaits = new Histogram({
  name: 'lockstep_lock_wait_seconds',
  help: 'From the request for a lock until it is granted or refused',
  registers,
  labelNames: ['rung', 'granted'],
  buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 3, 5],
});

const wordOf = (outcome: Outcome): string =>
  outcome.kind === 'refused' ? outcome.reason : outcome.kind;

type Series = ReturnType<typeof seriesOf>;

/** Of each rung; a series is looked up once, because its name costs more than its count. */
const known = new Map<string, Series>();

/** All at 0: Prometheus sees no increase where a series begins. */
function seriesOf(rung: string) {
  const words = ['accepted', 'unknown', ...refusalReasons];
  const counters = new Map(words.map((word) => [word, purchases.labels(rung, word)]));
  for (const counter of counters.values()) counter.inc(0);
  return { counters, histogram: seconds.labels(rung) };
}

export function countPurchase(rung: string, outcome: Outcome, ms: number): void {
  let series = known.get(rung);
  if (!series) {
    series = seriesOf(rung);
    known.set(rung, series);
  }
  series.counters.get(wordOf(outcome))?.inc();
  series.histogram.observe(ms / 1_000);
}

export const observeLockWait = (rung: string, isGranted: boolean, ms: number): void =>
  lockWaits.labels(rung, String(isGranted)).observe(ms / 1_000);
