/**
 * Sales under fire: faults while others buy, until every purchase has its answer. What they cost in
 * numbers, and what must be true of every such sale.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { confirmed, type Facts, usersWithSeveralOrders } from '../../service/audit/facts.ts';
import type { Bilingual } from '../../texts/texts.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import type { Fault } from '../faults/fault.ts';
import { killServer } from '../faults/process.ts';
import { sum } from '../stage/counts.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { type Purchase, type Try, unresolved } from '../workload/steady-purchases.ts';
import { auditAll, findingText, keptOf, type SaleAudit } from './audited.ts';
import {
  drillVerdict,
  type Found,
  nobodyBought,
  noneOf,
  type Reasons,
  unless,
} from './expectations.ts';
import { isSale } from './try-times.ts';

export const shapeUnderFire: ServiceShape = {
  instances: 4,
  balancer: 'nginx',
  settings: { ORDER_WORKERS: '2' }, // So that one can claim what the other left.
};

export interface StormFault {
  readonly fault: Fault;
  /** `kill instance`: the same for every instance. */
  readonly kind: string;
  /** From the undo of the fault before. */
  readonly afterMs: number;
  /** From the injection to the undo. */
  readonly forMs: number;
}

/** One server after the other is killed; the seed decides which one is first. */
export function* killsInTurn(
  servers: readonly string[],
  seed: number,
  times: Pick<StormFault, 'afterMs' | 'forMs'>,
  most = Number.POSITIVE_INFINITY,
): Generator<StormFault> {
  for (let turn = seed; turn < seed + most; turn++) {
    const fault = killServer(servers[turn % servers.length] ?? '');
    yield { fault, kind: fault.name, ...times };
  }
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
  /** With the tries as attempts; of one voucher, or of each. */
  readonly facts: Of;
}

/** Once its orders are recorded. */
export async function boughtOf(
  stage: Stage,
  voucherId: string,
  purchases: readonly Purchase[],
): Promise<Sale> {
  const facts = await stage.facts(voucherId);
  return { purchases, facts, tries: stage.triesOf(voucherId) };
}

const expected: readonly string[] = ['sold-out', 'already-ordered', 'not-ready'];

function stormFigures(
  { purchases, tries, facts }: Sale<readonly Facts[]>,
  alsoExpected: readonly string[] = [],
) {
  const accepted = tries.filter(isSale);
  const recorded = new Set(facts.flatMap((each) => confirmed(each).map(({ id }) => id)));
  const buyers = new Set(accepted.map(({ voucherId, userId }) => `${voucherId} ${userId}`));
  const orders = new Set(accepted.map(({ orderId = '' }) => orderId));
  const sent = new Set(tries.map(({ requestId }) => requestId));
  const begun = purchases.filter(({ requestId }) => sent.has(requestId));
  return {
    purchases: purchases.length,
    /** HTTP requests: a purchase is repeated until its answer is final. */
    requests: tries.length,
    /** Units that left the stock in MySQL. */
    sold: sum(facts.map(({ initialStock, mysql }) => initialStock - mysql.stock)),
    /** Orders in MySQL. */
    recorded: recorded.size,
    /** Users and vouchers with an accepted answer. */
    accepted: buyers.size,
    /** Accepted orders that MySQL does not have. */
    lost: [...orders].filter((id) => !recorded.has(id)).length,
    usersWithTwoOrders: sum(facts.map(usersWithSeveralOrders)),
    /** Purchases that were sent, without a final answer. */
    unresolved: unresolved(begun, tries).length,
    /** Purchases that no client began in time. */
    unsent: purchases.length - begun.length,
    /** Answers that a purchase of this storm must never get. */
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

/** Every sale under fire, with what else is wrong with these. */
export function judgeUnderFire(
  sales: readonly Sale<Facts | readonly Facts[]>[],
  by: JudgedBy,
): Judged {
  const all = {
    purchases: sales.flatMap(({ purchases }) => purchases),
    tries: sales.flatMap(({ tries }) => tries),
    facts: sales.flatMap(({ facts }) => facts),
  };
  const { broken = [], missing = [], audits = auditAll(all.facts), alsoExpected } = by;
  const storm = stormFigures(all, alsoExpected);
  const verdicts = audits.map(({ audit }) => audit.verdict);
  return {
    ...drillVerdict(verdicts, {
      broken: [...stormViolations(storm), ...broken],
      audited: audits.filter(({ audit }) => audit.verdict !== 'held').flatMap(worstText),
      missing: [
        ...missing,
        unless(storm.accepted > 0, nobodyBought),
        // A slow machine sends too few: that says nothing about the service.
        noneOf(storm.unsent, { en: 'purchases were not sent in time', zh: '没有按时发出的下单' }),
      ],
    }),
    ...keptOf(audits),
    figures: { ...storm, ...by.figures },
  };
}

function stormViolations(figures: ReturnType<typeof stormFigures>): Found[] {
  const { sold, recorded, accepted, usersWithTwoOrders } = figures;
  return [
    unless(sold === recorded && recorded === accepted, {
      en: `${sold} sold, ${recorded} recorded and ${accepted} accepted are not equal`,
      zh: `卖出 ${sold}、已入库 ${recorded}、受理 ${accepted}，三者不相等`,
    }),
    noneOf(figures.lost, { en: 'accepted orders were lost', zh: '丢失的已受理订单' }),
    noneOf(usersWithTwoOrders, {
      en: 'users have two orders of one voucher',
      zh: '同一张券买到两单的用户',
    }),
    noneOf(figures.unresolved, {
      en: 'purchases never got a final answer',
      zh: '一直没有明确结果的下单',
    }),
    noneOf(figures.unexpected, {
      en: 'answers do not belong to this sale',
      zh: '不该在这场秒杀里出现的响应',
    }),
  ];
}

/** The worst finding of a voucher whose audit did not hold. */
function worstText({ facts, audit }: SaleAudit): Bilingual[] {
  const finding = audit.findings.find(({ verdict }) => verdict === audit.verdict);
  return finding ? [findingText({ voucherId: facts.voucherId, finding })] : [];
}
