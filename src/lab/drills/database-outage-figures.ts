/** What an outage of the database cost, and whether it went as it must. Pure. */
import type { Facts } from '../../service/audit/facts.ts';
import type { Judged } from '../stage/result.ts';
import type { Try } from '../workload/steady-purchases.ts';
import { type Audited, drillVerdict, findingsOf, notHeldTexts } from './audited.ts';
import { type Phase, phaseOf } from './phases.ts';
import { answeredAt, isSale, longestGapBetweenMs, msBetween, sentBetween } from './try-times.ts';

/** In an answer of /readyz: MySQL in one of the lists, or orders that wait for too long. */
const signs = {
  unanswered: '"unanswered":["MySQL"]',
  readOnly: '"readOnly":["MySQL"]',
  behind: '"status":"degraded","unanswered":[],"readOnly":[]',
} as const;

/** One outage. The times are nanoseconds of the clock of the tries. */
export interface DatabaseOutage {
  /** For people: `stop mariadb`. */
  readonly name: string;
  /** What /readyz must say meanwhile. */
  readonly state: keyof typeof signs;
  /** The orders that wait fill Redis, so that nothing more is sold. */
  readonly fillsRedis: boolean;
  readonly calmFrom: bigint;
  readonly brokenAt: bigint;
  readonly mendedAt: bigint;
  /** When MySQL had every order of the outage; null when it did not get them in time. */
  readonly recordedAt: bigint | null;
  readonly until: bigint;
  readonly tries: readonly Try[];
  /** The most orders that were queued at a moment of the outage. */
  readonly waitingMost: number;
  /** The bodies of /readyz. */
  readonly readiness: readonly string[];
  /** Processes of the service that ended. */
  readonly replaced: number;
  readonly facts: Facts;
}

const meanwhile = ({ tries, brokenAt, mendedAt }: DatabaseOutage): Try[] =>
  sentBetween(tries, brokenAt, mendedAt);
const soldMeanwhile = (outage: DatabaseOutage): number => meanwhile(outage).filter(isSale).length;

const isRefusedByRedis = ({ reason }: Try): boolean => reason === 'not-ready';

const hasSaleAfter = ({ tries, mendedAt, until }: DatabaseOutage): boolean =>
  sentBetween(tries, mendedAt, until).some(isSale);

const deadLettered = ({ facts }: DatabaseOutage): number =>
  facts.mysql.orders.filter(({ status }) => status === 'failed').length;

const toldSo = ({ readiness, state }: DatabaseOutage): number =>
  readiness.filter((body) => body.includes(signs[state])).length;

/** `recordedMs` is missing when the orders were not recorded in time. */
export function outageFigures(outage: DatabaseOutage): Record<string, number> {
  const { recordedAt, mendedAt, waitingMost, replaced } = outage;
  return {
    soldMeanwhile: soldMeanwhile(outage),
    waitingMost,
    ...(recordedAt !== null && { recordedMs: msBetween(mendedAt, recordedAt) }),
    deadLettered: deadLettered(outage),
    readyzSaidSo: toldSo(outage),
    replaced,
  };
}

export function databaseOutagePhases(rung: string, outage: DatabaseOutage): Phase[] {
  const { name, tries, calmFrom, brokenAt, mendedAt, until } = outage;
  const sales = tries.filter(isSale).map(answeredAt);
  const inside = sales.filter((at) => at >= calmFrom && at < until);
  return [
    phaseOf(rung, 'before', sentBetween(tries, calmFrom, brokenAt)),
    {
      ...phaseOf(rung, name, meanwhile(outage)),
      withoutSalesMs: longestGapBetweenMs(inside, calmFrom, until),
    },
    phaseOf(rung, 'after', sentBetween(tries, mendedAt, until)),
  ];
}

export function databaseOutageReasons(
  outage: DatabaseOutage,
  audited: Audited,
): Pick<Judged, 'verdict' | 'reasons'> {
  const before = sentBetween(outage.tries, outage.calmFrom, outage.brokenAt);
  const missing = before.some(isSale) ? [] : [`${outage.name}: nobody bought before`];
  if (outage.fillsRedis && !meanwhile(outage).some(isRefusedByRedis))
    missing.push(`${outage.name}: Redis was never full`);
  return drillVerdict([audited.audit.verdict], {
    broken: violations(outage),
    audited: notHeldTexts(findingsOf(audited)),
    missing,
  });
}

function violations(outage: DatabaseOutage): string[] {
  const { name, recordedAt, waitingMost, state, replaced } = outage;
  const sold = soldMeanwhile(outage);
  const asked = meanwhile(outage).length;
  const failed = deadLettered(outage);
  const found: string[] = [];
  if (!hasSaleAfter(outage)) found.push(`${name}: nothing was sold afterwards`);
  if (!outage.fillsRedis && sold * 2 < asked)
    found.push(`${name}: sold ${sold} in ${asked} attempts meanwhile`);
  if (waitingMost * 2 < sold)
    found.push(`${name}: ${sold} were sold, and at most ${waitingMost} orders waited`);
  if (recordedAt === null) found.push(`${name}: not every order was recorded afterwards`);
  if (failed > 0) found.push(`${name}: ${failed} orders were dead-lettered`);
  if (toldSo(outage) === 0) found.push(`${name}: /readyz never said so: ${signs[state]}`);
  if (replaced > 0) found.push(`${name}: ${replaced} processes were replaced, and none was stuck`);
  return found;
}
