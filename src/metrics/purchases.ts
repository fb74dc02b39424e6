/** How purchases ended in this process, and how long they and their locks took. */
import { Counter, Histogram } from 'prom-client';
import type { Outcome } from '../domain.ts';

const purchases = new Counter({
  name: 'lockstep_purchases_total',
  help: 'Purchases by outcome: accepted, unknown, or the reason of the refusal',
  labelNames: ['rung', 'outcome'],
});
const seconds = new Histogram({
  name: 'lockstep_purchase_seconds',
  help: 'From the order id to the outcome of a purchase',
  labelNames: ['rung'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
});
const lockWaits = new Histogram({
  name: 'lockstep_lock_wait_seconds',
  help: 'From the request for a lock until it is granted or refused',
  labelNames: ['rung', 'granted'],
  buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 3, 5],
});

const wordOf = (outcome: Outcome): string =>
  outcome.kind === 'refused' ? outcome.reason : outcome.kind;

/** A series is looked up once: its name costs more than its count. */
const series = new Map<string, { inc: () => void; observe: (value: number) => void }>();

export function countPurchase(rung: string, outcome: Outcome, ms: number): void {
  const word = wordOf(outcome);
  const key = `${rung} ${word}`;
  let own = series.get(key);
  if (!own) {
    const counter = purchases.labels(rung, word);
    const histogram = seconds.labels(rung);
    own = { inc: () => counter.inc(), observe: (value) => histogram.observe(value) };
    series.set(key, own);
  }
  own.inc();
  own.observe(ms / 1_000);
}

export const observeLockWait = (rung: string, isGranted: boolean, ms: number): void =>
  lockWaits.labels(rung, String(isGranted)).observe(ms / 1_000);
