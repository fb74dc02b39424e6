/** How purchases ended in this process, and how long they and their locks took. */
import { Counter, Histogram } from '@prometheus-io/client';
import { type Outcome, refusalReasons } from '../domain.ts';
import { registers } from './registry.ts';

const purchases = new Counter({
  name: 'lockstep_purchases_total',
  help: 'Purchases by outcome: accepted, unknown, or the reason of the refusal',
  registers,
  labelNames: ['rung', 'outcome'],
  collect: moveCounts,
});
const turnedAway = new Counter({
  name: 'lockstep_purchases_turned_away_total',
  help: 'Purchases, and requests for a place of a waiting room, that were turned away, by code',
  registers,
  labelNames: ['code'],
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

/** Before the sale is asked. */
export const turnedAwayCodes = ['too-many-requests', 'overloaded', 'pass-required'] as const;
export type TurnedAway = (typeof turnedAwayCodes)[number];
for (const code of turnedAwayCodes) turnedAway.inc({ code }, 0);

const wordOf = (outcome: Outcome): string =>
  outcome.kind === 'refused' ? outcome.reason : outcome.kind;

interface Series {
  /** By outcome, and not in the counter yet: to find its label costs more than to count here. */
  readonly counts: Map<string, number>;
  readonly observe: (seconds: number) => void;
}
const known = new Map<string, Series>();

/** All at 0: Prometheus sees no increase where a series begins. */
function seriesOf(rung: string): Series {
  const words = ['accepted', 'unknown', ...refusalReasons];
  const { observe } = seconds.labels(rung);
  return { counts: new Map(words.map((word) => [word, 0])), observe };
}

export function countPurchase(rung: string, outcome: Outcome, ms: number): void {
  let series = known.get(rung);
  if (!series) {
    series = seriesOf(rung);
    known.set(rung, series);
  }
  const word = wordOf(outcome);
  series.counts.set(word, (series.counts.get(word) ?? 0) + 1);
  series.observe(ms / 1_000);
}

/** Moves them to the counter, when somebody asks for the metrics. */
function moveCounts(): void {
  for (const [rung, { counts }] of known)
    for (const [outcome, count] of counts) {
      purchases.inc({ rung, outcome }, count);
      counts.set(outcome, 0);
    }
}

export const countTurnedAway = (code: TurnedAway): void => turnedAway.inc({ code });

export const observeLockWait = (rung: string, isGranted: boolean, ms: number): void =>
  lockWaits.labels(rung, String(isGranted)).observe(ms / 1_000);
