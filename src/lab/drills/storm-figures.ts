/** What a storm cost, in numbers, and the verdict from them. Pure. */
import { confirmed, type Facts, usersWithSeveralOrders } from '../../service/audit/facts.ts';
import { type Purchase, type Try, unresolved } from '../workload/steady-purchases.ts';
import {
  type Audited,
  drillVerdict,
  findingText,
  type judgeAudits,
  keptOf,
  type Reasons,
} from './audited.ts';
import { isSale } from './try-times.ts';

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
  /** The longest time between two sales, and when it began, since the first request. */
  readonly longestGapMs: number;
  readonly longestGapAtMs: number;
}

const expected: readonly string[] = ['sold-out', 'already-ordered', 'not-ready'];

export function stormFigures(
  purchases: readonly Purchase[],
  tries: readonly Try[],
  facts: readonly Facts[],
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
    ...longestGap(tries),
  };
}

/** A refusal that this sale has no reason for; and no fault may make the service fail. */
const isUnexpected =
  (reasons: readonly string[]) =>
  ({ outcome, reason = '' }: Try): boolean =>
    outcome === 'refused' ? !reasons.includes(reason) : reason === 'internal-error';

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

function longestGap(tries: readonly Try[]): Pick<StormFigures, 'longestGapMs' | 'longestGapAtMs'> {
  const ms = (nanoseconds = '0') => Number(BigInt(nanoseconds) / 1_000_000n);
  const start = tries.reduce((first, { sentAt }) => Math.min(first, ms(sentAt)), Infinity);
  const sales = tries
    .filter(isSale)
    .map(({ answeredAt }) => ms(answeredAt) - start)
    .sort((one, other) => one - other);
  const gap = { longestGapMs: 0, longestGapAtMs: 0 };
  for (const [index, at] of sales.slice(1).entries()) {
    const before = sales[index] ?? at;
    if (at - before > gap.longestGapMs)
      Object.assign(gap, { longestGapMs: at - before, longestGapAtMs: before });
  }
  return gap;
}

/** Every part must have been killed and paused, or the storm proves nothing about it. */
const kinds = ['redis-main', 'database', 'nginx', 'instance', 'worker'].flatMap((role) => [
  `kill ${role}`,
  `pause ${role}`,
]);

export function stormReasons(
  figures: StormFigures,
  faults: Readonly<Record<string, number>>,
  audits: readonly Audited[],
): ReturnType<typeof judgeUnderFire> {
  const missing = kinds.filter((kind) => !faults[kind]).map((kind) => `there was no ${kind}`);
  if (figures.accepted === 0) missing.push('nobody bought');
  return judgeUnderFire(figures, audits, { missing });
}

/** Purchases under fire, of many vouchers. @param more what else is wrong */
export const judgeUnderFire = (
  figures: StormFigures,
  audits: readonly Audited[],
  { broken = [], missing = [] }: Partial<Pick<Reasons, 'broken' | 'missing'>>,
): ReturnType<typeof judgeAudits> => ({
  ...drillVerdict(
    audits.map(({ audit }) => audit.verdict),
    {
      broken: [...stormViolations(figures), ...broken],
      audited: auditedReasons(audits),
      missing: [...missing, ...unsentTexts(figures)],
    },
  ),
  ...keptOf(audits),
});

/** A slow machine sends too few: that says nothing about the service. */
const unsentTexts = ({ unsent }: StormFigures): string[] =>
  unsent === 0 ? [] : [`${unsent} purchases were not sent in time`];

function stormViolations(figures: StormFigures): string[] {
  const { sold, recorded, accepted, lost, usersWithTwoOrders } = figures;
  const isEqual = sold === recorded && recorded === accepted;
  const counts = [
    [lost, 'accepted orders were lost'],
    [usersWithTwoOrders, 'users have two orders of one voucher'],
    [figures.unresolved, 'purchases never got a final answer'],
    [figures.unexpected, 'answers do not belong to this sale'],
  ] as const;
  const zeros = counts.filter(([count]) => count > 0).map(([count, text]) => `${count} ${text}`);
  if (isEqual) return zeros;
  return [`${sold} sold, ${recorded} recorded and ${accepted} accepted are not equal`, ...zeros];
}

/** The worst finding of each voucher whose audit did not hold. */
const auditedReasons = (audits: readonly Audited[]): string[] =>
  audits.filter(({ audit }) => audit.verdict !== 'held').map(describeAudit);

function describeAudit({ facts, audit }: Audited): string {
  const finding = audit.findings.find(({ verdict }) => verdict === audit.verdict);
  return finding ? findingText({ voucherId: facts.voucherId, finding }) : '';
}
