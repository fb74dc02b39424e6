/** What clients saw in each part of a drill: rows of a table. Pure. */
import { countBy } from '../../grouping.ts';
import type { Answered } from '../stage/events.ts';
import type { Table } from '../stage/result.ts';
import { percentiles } from '../workload/percentiles.ts';
import { isSale } from './try-times.ts';

export interface Phase {
  readonly rung: string;
  /** For people: `before`, `2 of 3 stopped`. */
  readonly phase: string;
  readonly accepted: number;
  readonly refusedBecause: Readonly<Record<string, number>>;
  readonly unknown: number;
  readonly p99Ms: number;
  /** The longest time between two sales, from the calm before the fault to the calm after it. */
  readonly withoutSalesMs?: number;
  /** From the end of the fault to the first sale after it; null when there was none. */
  readonly resumedAfterMs?: number | null;
}

export function phaseOf(rung: string, phase: string, tries: readonly Answered[]): Phase {
  const refused = tries.filter(({ outcome }) => outcome === 'refused');
  return {
    rung,
    phase,
    accepted: tries.filter(isSale).length,
    refusedBecause: countBy(refused.map(({ reason = 'no reason' }) => reason)),
    unknown: tries.filter(({ outcome }) => outcome === 'unknown').length,
    p99Ms: percentiles(tries.flatMap(({ latencyMs = [] }) => latencyMs)).p99,
  };
}

/** `away`: refused because the lock service was not available. `no sale`: the longest gap. */
export const phaseTable = (phases: readonly Phase[]): Table => ({
  title: 'Phases',
  head: ['rung', 'phase', 'sold', 'refused', 'away', '?', 'p99 ms', 'no sale ms', 'back ms'],
  rows: phases.map((each) => {
    const { rung, phase, accepted, refusedBecause, unknown, p99Ms } = each;
    const refused = Object.values(refusedBecause).reduce((sum, count) => sum + count, 0);
    const away = refusedBecause['lock-service-unavailable'] ?? 0;
    const { withoutSalesMs = '', resumedAfterMs = '' } = each;
    return [
      ...[rung, phase, String(accepted)],
      { short: String(refused), full: refusals(refusedBecause) },
      ...[away, unknown, p99Ms, withoutSalesMs].map(String),
      String(resumedAfterMs ?? 'never'),
    ];
  }),
});

const refusals = (because: Readonly<Record<string, number>>): string =>
  Object.entries(because)
    .map(([reason, count]) => `${count.toLocaleString('en-US')} ${reason}`)
    .join(', ') || '0';
