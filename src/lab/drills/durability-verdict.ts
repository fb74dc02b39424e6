/** What became of the accepted orders, and whether that is what each durability claims. Pure. */
import { confirmed, type Facts } from '../../service/audit/facts.ts';
import type { Durability } from '../../service/config.ts';
import type { Verdict } from '../../service/domain.ts';
import type { Judged } from '../stage/result.ts';
import { percentiles } from '../workload/percentiles.ts';
import type { Try } from '../workload/steady-purchases.ts';
import { type Audited, drillVerdict, findingsOf, findingText } from './audited.ts';
import type { Loss, Survival } from './survival.ts';
import { answeredAt, isSale, longestGapBetweenMs, sentBetween } from './try-times.ts';

/** `may`: kill -9 loses what Redis has not written yet; with `everysec` that may be something. */
type Claim = 'none' | 'some' | 'may';

export const durabilityClaims: Readonly<Record<Durability, Readonly<Record<Loss, Claim>>>> = {
  everysec: { kill: 'may', 'power-loss': 'some', promotion: 'some' },
  always: { kill: 'none', 'power-loss': 'none', promotion: 'some' },
  replica: { kill: 'none', 'power-loss': 'none', promotion: 'none' },
};

/** One loss under load. The times are nanoseconds of the clock of the tries. */
export interface Endured {
  readonly durability: Durability;
  readonly loss: Loss;
  readonly calmFrom: bigint;
  readonly brokenAt: bigint;
  readonly until: bigint;
  /** No sale came after it in time. */
  readonly isOver: boolean;
  /** Accepted orders, at least, that nobody but the Redis that died can have had. */
  readonly atRisk: number;
  readonly facts: Facts;
}

const attemptsOf = ({ facts }: Endured): readonly Try[] => (facts.attempts ?? []) as Try[];

const acceptedOf = (endured: Endured): Set<string> =>
  new Set(
    attemptsOf(endured).flatMap(({ outcome, orderId }) =>
      outcome === 'accepted' && orderId !== undefined ? [orderId] : [],
    ),
  );

export function survivalOf(endured: Endured): Survival {
  const { durability, loss, facts, calmFrom, brokenAt, until } = endured;
  const calm = sentBetween(attemptsOf(endured), calmFrom, brokenAt);
  const accepted = acceptedOf(endured);
  const recorded = new Set(confirmed(facts).map(({ id }) => id));
  const sales = attemptsOf(endured).filter(isSale).map(answeredAt);
  const inside = sales.filter((at) => at >= calmFrom && at < until);
  return {
    ...{ durability, loss, accepted: accepted.size },
    lost: [...accepted].filter((id) => !recorded.has(id)).length,
    unknown: attemptsOf(endured).filter(({ outcome }) => outcome === 'unknown').length,
    secondsWithoutSales: longestGapBetweenMs(inside, calmFrom, until) / 1_000,
    calmMs: percentiles(calm.map(({ latencyMs }) => latencyMs)).p50,
  };
}

const nameOf = ({ durability, loss }: Pick<Endured, 'durability' | 'loss'>): string =>
  `${durability}, ${loss}`;

export function durabilityReasons(
  all: readonly Endured[],
  audits: readonly Audited[],
): Pick<Judged, 'verdict' | 'reasons' | 'asClaimed'> {
  const judged = all.map((each, index) => judge(each, audits[index]));
  const verdicts: Verdict[] = judged.flatMap(({ verdict }) => verdict);
  return {
    ...drillVerdict(verdicts, {
      broken: judged.flatMap(({ broken }) => broken),
      audited: judged.flatMap(({ audited }) => audited),
      missing: all.flatMap(missingIn),
    }),
    asClaimed: judged.flatMap(({ asClaimed }) => asClaimed),
  };
}

/**
 * Redis has forgotten orders that MySQL has, and nothing else: they were recorded before Redis had
 * written them to its file.
 */
function hasForgotten({ facts }: Endured): boolean {
  const { redis, mysql } = facts;
  if (!redis?.buyers) return false;
  const { buyers, stock } = redis;
  const forgotten = confirmed(facts).filter(({ userId }) => buyers[userId] === undefined);
  return forgotten.length > 0 && (stock ?? 0) - mysql.stock === forgotten.length;
}

/**
 * Where a loss is claimed, the audit must find it: orders that are lost, or that Redis has
 * forgotten, and nothing else.
 */
function judge(endured: Endured, audited: Audited | undefined) {
  const { lost } = survivalOf(endured);
  const { atRisk } = endured;
  const claim = durabilityClaims[endured.durability][endured.loss];
  const findings = audited ? findingsOf(audited) : [];
  const isLoss = ({ finding }: (typeof findings)[number]) =>
    finding.check === 'no-lost-orders' && finding.verdict === 'violated';
  const found = findings.filter(isLoss);
  const mayLose = claim !== 'none';
  const isClaimed = (each: (typeof findings)[number]) =>
    isLoss(each) || (each.finding.check === 'redis-matches-mysql' && hasForgotten(endured));
  const wrong = findings.filter(
    (each) => each.finding.verdict !== 'held' && !(mayLose && isClaimed(each)),
  );
  const broken: string[] = [];
  if (claim === 'none' && lost > 0)
    broken.push(`${nameOf(endured)}: ${lost} accepted orders were lost, and none may be`);
  if (claim === 'some' && lost < Math.max(1, atRisk))
    broken.push(`${nameOf(endured)}: ${atRisk} orders were at risk, and ${lost} were lost`);
  if (lost > 0 !== found.length > 0)
    broken.push(`${nameOf(endured)}: ${lost} orders were lost, and the audit says otherwise`);
  return {
    broken: [...broken, ...lateSale(endured)],
    audited: wrong.map(findingText),
    verdict: wrong.map(({ finding }) => finding.verdict),
    asClaimed: mayLose ? found.map((each) => `${nameOf(endured)}: ${findingText(each)}`) : [],
  };
}

/** After a promotion sales resume by themselves. */
export const resumeWithinMs = 10_000;

function lateSale(endured: Endured): string[] {
  if (endured.isOver) return [`${nameOf(endured)}: no sale afterwards`];
  const { secondsWithoutSales } = survivalOf(endured);
  if (secondsWithoutSales * 1_000 <= resumeWithinMs) return [];
  return [`${nameOf(endured)}: ${secondsWithoutSales} s without a sale`];
}

/** Without load a fault proves nothing. */
function missingIn(endured: Endured): string[] {
  const before = attemptsOf(endured).some(
    (attempt) => isSale(attempt) && answeredAt(attempt) < endured.brokenAt,
  );
  return before ? [] : [`${nameOf(endured)}: nobody bought before`];
}
