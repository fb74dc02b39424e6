/** What clients saw in each part of a drill: rows of a table. Pure. */
import { countBy, grouped, sum } from '../stage/counts.ts';
import type { BuyerAnswer } from '../stage/events.ts';
import type { Table, TableCell, Text } from '../stage/result.ts';
import { type Column, inColumns } from '../stage/table.ts';
import { percentiles } from '../workload/percentiles.ts';
import { type PhasedOutage, resumedAfterMs, withoutSalesMs } from './expectations.ts';
import { isSale, sentBetween } from './try-times.ts';

export interface Phase {
  readonly rung: string;
  /** For people: `before`, `2 of 3 stopped`. */
  readonly phase: Text;
  readonly accepted: number;
  readonly refusedBecause: Readonly<Record<string, number>>;
  readonly unknown: number;
  readonly p99Ms: number;
  /** The longest time between two sales, from the calm before the fault to the calm after it. */
  readonly withoutSalesMs?: number;
  /** From the end of the fault to the first sale after it; null when there was none. */
  readonly resumedAfterMs?: number | null;
}

export const phaseNames = {
  before: { en: 'before', zh: '之前' },
  after: { en: 'after', zh: '之后' },
} as const;

export function phaseOf(rung: string, phase: Text, tries: readonly BuyerAnswer[]): Phase {
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

/** What clients saw from `from` to `to`, with the cost of the outage. */
export const outagePhase = (rung: string, seen: PhasedOutage, from: bigint, to: bigint): Phase => ({
  ...phaseOf(rung, seen.row.phase ?? seen.row.name, sentBetween(seen.tries, from, to)),
  withoutSalesMs: withoutSalesMs(seen),
  resumedAfterMs: resumedAfterMs(seen),
});

/** Before, during and after. */
export const phasesAround = (rung: string, seen: PhasedOutage): Phase[] => [
  phaseOf(rung, phaseNames.before, sentBetween(seen.tries, seen.calmFrom, seen.brokenAt)),
  outagePhase(rung, seen, seen.downFrom, seen.downUntil),
  phaseOf(rung, phaseNames.after, sentBetween(seen.tries, seen.mendedAt, seen.until)),
];

/** @param by when an attempt belongs to a phase */
export const phaseTable = (phases: readonly Phase[], by: keyof typeof counted = 'sent'): Table => ({
  title: { en: 'Phases', zh: '各个阶段' },
  legend: { sold: counted[by], ...legend },
  ...inColumns(phases, columns),
});

const columns: readonly Column<Phase>[] = [
  [{ en: 'rung', zh: '方案' }, ({ rung }) => rung],
  [{ en: 'phase', zh: '阶段' }, ({ phase }) => phase],
  [{ en: 'sold', zh: '成交' }, ({ accepted }) => grouped(accepted)],
  [{ en: 'refused', zh: '拒绝' }, ({ refusedBecause }) => refusals(refusedBecause)],
  [
    { en: 'away', zh: '锁不可用' },
    ({ refusedBecause }) => grouped(refusedBecause['lock-service-unavailable'] ?? 0),
  ],
  ['?', ({ unknown }) => grouped(unknown)],
  ['p99 ms', ({ p99Ms }) => p99Ms],
  [{ en: 'no sale ms', zh: '停卖 ms' }, ({ withoutSalesMs = '' }) => withoutSalesMs],
  [
    { en: 'back ms', zh: '恢复 ms' },
    ({ resumedAfterMs = '' }) => resumedAfterMs ?? { en: 'never', zh: '没有' },
  ],
];

const counted = {
  sent: {
    en: 'of the attempts that were sent in this phase, however late they were answered: accepted; then refused',
    zh: '在此阶段发出的请求（不论多晚得到响应）：受理；其后是拒绝',
  },
  answered: {
    en: 'of the attempts that were answered in this phase: accepted; then refused',
    zh: '在此阶段得到响应的请求：受理；其后是拒绝',
  },
} as const;

const legend = {
  away: {
    en: 'so many of the refused: lock-service-unavailable',
    zh: '被拒绝的请求中，锁服务不可用（lock-service-unavailable）的数量',
  },
  '?': {
    en: 'unknown: no answer came, or one that does not say whether it was sold',
    zh: '未知：没有响应，或响应没有说明是否成交',
  },
  'no sale ms': {
    en: 'the longest time between two sales, from the calm before to the calm after',
    zh: '两次成交之间最长的时间，从之前的平静到之后的平静',
  },
  'back ms': {
    en: 'from the moment at which all is mended to the next sale',
    zh: '从全部修复到下一次成交',
  },
} as const;

function refusals(because: Readonly<Record<string, number>>): TableCell {
  const each = Object.entries(because).map(([reason, count]) => `${grouped(count)} ${reason}`);
  return { short: grouped(sum(Object.values(because))), full: each.join(', ') || '0' };
}
