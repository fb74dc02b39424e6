/**
 * Sales under fire: faults while others buy, until every purchase has its answer. What they cost in
 * numbers, and what must be true of every such sale.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { confirmed, type Facts, usersWithSeveralOrders } from '../../service/audit/facts.ts';
import type { Fault } from '../faults/fault.ts';
import { sum } from '../stage/counts.ts';
import type { Judged, Text } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { type Purchase, type Try, unresolved } from '../workload/steady-purchases.ts';
import {
  auditAll,
  countTexts,
  drillVerdict,
  findingText,
  keptOf,
  type Reasons,
  type SaleAudit,
} from './audited.ts';
import { isSale } from './try-times.ts';

export interface StormFault {
  readonly fault: Fault;
  /** `kill instance`: the same for every instance. */
  readonly kind: string;
  /** From the undo of the fault before. */
  readonly afterMs: number;
  /** From the injection to the undo. */
  readonly forMs: number;
}

/**
 * Injects the faults until `over` aborts; each is undone before the next, and the last one too.
 * @returns the kinds, in order.
 */
export async function playStorm(
  stage: Stage,
  faults: Iterable<StormFault>,
  over: AbortSignal,
): Promise<string[]> {
  const played: string[] = [];
  const signal = AbortSignal.any([stage.signal, over]);
  const rest = (ms: number) => sleep(Math.max(0, ms), undefined, { signal }).catch(() => {});
  for (const { fault, kind, afterMs, forMs } of faults) {
    await rest(afterMs);
    if (signal.aborted) break;
    const undo = await stage.inject(fault);
    await rest(forMs);
    await undo();
    played.push(kind);
  }
  return played;
}

/**
 * The faults of each sequence, at the same time, until the work ends; then the lab is healed.
 * @param work is given what ends it, too: when a fault fails, nothing else goes on without end
 * @returns what the work returned, and the kinds of the faults.
 */
export async function underFire<T>(
  stage: Stage,
  sequences: readonly Iterable<StormFault>[],
  work: (over: AbortSignal) => Promise<T>,
): Promise<{ readonly done: T; readonly kinds: readonly string[] }> {
  const over = new AbortController();
  const storms = sequences.map((faults) => playStorm(stage, faults, over.signal));
  try {
    const working = work(over.signal).finally(() => over.abort());
    const [done, ...kinds] = await Promise.all([working, ...storms]);
    await stage.lab.heal();
    return { done, kinds: kinds.flat() };
  } finally {
    over.abort();
    await Promise.allSettled(storms);
  }
}

/** What was bought under fire. */
export interface Sale<Of = Facts> {
  readonly purchases: readonly Purchase[];
  readonly tries: readonly Try[];
  /** With the tries as attempts. */
  readonly facts: Of;
}

/** Of many vouchers. */
export const allOf = (sales: readonly Sale[]): Sale<Facts[]> => ({
  purchases: sales.flatMap(({ purchases }) => purchases),
  tries: sales.flatMap(({ tries }) => tries),
  facts: sales.map(({ facts }) => facts),
});

export interface StormFigures {
  readonly purchases: number;
  /** HTTP requests: a purchase is repeated until its answer is final. */
  readonly requests: number;
  /** Units that left the stock in MySQL. */
  readonly sold: number;
  /** Orders in MySQL. */
  readonly recorded: number;
  /** Users and vouchers with an accepted answer. */
  readonly accepted: number;
  /** Accepted orders that MySQL does not have. */
  readonly lost: number;
  readonly usersWithTwoOrders: number;
  /** Purchases that were sent, without a final answer. */
  readonly unresolved: number;
  /** Purchases that no client began in time. */
  readonly unsent: number;
  /** Answers that a purchase of this storm must never get. */
  readonly unexpected: number;
}

const expected: readonly string[] = ['sold-out', 'already-ordered', 'not-ready'];

export function stormFigures(
  { purchases, tries, facts }: Sale<readonly Facts[]>,
  alsoExpected: readonly string[] = [],
): StormFigures {
  const accepted = tries.filter(isSale);
  const recorded = new Set(facts.flatMap((each) => confirmed(each).map(({ id }) => id)));
  const buyers = new Set(accepted.map(({ voucherId, userId }) => `${voucherId} ${userId}`));
  const orders = new Set(accepted.map(({ orderId = '' }) => orderId));
  const sent = new Set(tries.map(({ requestId }) => requestId));
  const begun = purchases.filter(({ requestId }) => sent.has(requestId));
  return {
    purchases: purchases.length,
    requests: tries.length,
    sold: sum(facts.map(({ initialStock, mysql }) => initialStock - mysql.stock)),
    recorded: recorded.size,
    accepted: buyers.size,
    lost: [...orders].filter((id) => !recorded.has(id)).length,
    usersWithTwoOrders: sum(facts.map(usersWithSeveralOrders)),
    unresolved: unresolved(begun, tries).length,
    unsent: purchases.length - begun.length,
    unexpected: tries.filter(isUnexpected([...expected, ...alsoExpected])).length,
  };
}

/** A refusal that this sale has no reason for; and no fault may make the service fail. */
const isUnexpected =
  (reasons: readonly string[]) =>
  ({ outcome, reason = '' }: Try): boolean =>
    outcome === 'refused' ? !reasons.includes(reason) : reason === 'internal-error';

interface JudgedBy extends Partial<Pick<Reasons, 'broken' | 'missing'>> {
  /** Of the facts, for a caller that has made them. */
  readonly audits?: readonly SaleAudit[];
  /** Refusals that only this sale has a reason for. */
  readonly alsoExpected?: readonly string[];
  /** Beside those that every sale has. */
  readonly figures?: Readonly<Record<string, number>>;
}

/** Every sale under fire, with what else is wrong with this one. */
export function judgeUnderFire(sale: Sale<readonly Facts[]>, by: JudgedBy): Judged {
  const { broken = [], missing = [], audits = auditAll(sale.facts), alsoExpected } = by;
  const storm = stormFigures(sale, alsoExpected);
  const verdicts = audits.map(({ audit }) => audit.verdict);
  return {
    ...drillVerdict(verdicts, {
      broken: [...stormViolations(storm), ...broken],
      audited: audits.filter(({ audit }) => audit.verdict !== 'held').map(worstText),
      missing: [
        ...missing,
        ...(storm.accepted === 0 ? ['nobody bought'] : []),
        // A slow machine sends too few: that says nothing about the service.
        ...countTexts([[storm.unsent, 'purchases were not sent in time']]),
      ],
    }),
    ...keptOf(audits),
    figures: { ...storm, ...by.figures },
  };
}

function stormViolations(figures: StormFigures): string[] {
  const { sold, recorded, accepted, lost, usersWithTwoOrders } = figures;
  const isEqual = sold === recorded && recorded === accepted;
  const unequal = `${sold} sold, ${recorded} recorded and ${accepted} accepted are not equal`;
  return [
    ...(isEqual ? [] : [unequal]),
    ...countTexts([
      [lost, 'accepted orders were lost'],
      [usersWithTwoOrders, 'users have two orders of one voucher'],
      [figures.unresolved, 'purchases never got a final answer'],
      [figures.unexpected, 'answers do not belong to this sale'],
    ]),
  ];
}

/** The worst finding of a voucher whose audit did not hold. */
function worstText({ facts, audit }: SaleAudit): Text {
  const finding = audit.findings.find(({ verdict }) => verdict === audit.verdict);
  return finding ? findingText({ voucherId: facts.voucherId, finding }) : '';
}
