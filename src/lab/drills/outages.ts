/** What an outage of lock servers cost, and whether it went as claimed. Pure. */
import type { LockService } from '../../service/ladder/rung.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import type { Bilingual, Judged } from '../stage/result.ts';
import type { Try } from '../workload/steady-purchases.ts';
import {
  type Audited,
  type AuditedFinding,
  drillVerdict,
  findingsOf,
  notHeldTexts,
} from './audited.ts';
import { type Phase, phaseOf } from './phases.ts';
import {
  answeredAt,
  firstAfterMs,
  isSale,
  longestGapBetweenMs,
  sentAt,
  sentBetween,
} from './try-times.ts';

/**
 * Stopped: their connections end. Hung: their connections stay, and nothing answers (SIGSTOP).
 * Late: what is sent to them arrives after its sender has given up.
 */
export type Away = 'stopped' | 'hung' | 'late';

/** What is done to the lock servers of a rung. */
export interface OutagePlan {
  readonly servers: readonly string[];
  readonly away: Away;
}

/** One outage under load. The times are nanoseconds of the clock of the tries. */
export interface Outage extends OutagePlan {
  readonly rung: string;
  /** All lock servers of the rung. */
  readonly masters: number;
  /** The claim: what is left is enough to sell. */
  readonly sells: boolean;
  /** The claim: locks that nobody holds may be left. */
  readonly leavesLocks: boolean;
  /** Locks that nobody holds, some time after the servers were back; null: not in Redis. */
  readonly leftLocks: number | null;
  readonly calmFrom: bigint;
  readonly stopAt: bigint;
  /** From `downAt` to `startAt` the servers did not run, or no request reached them in time. */
  readonly downAt: bigint;
  readonly startAt: bigint;
  readonly backAt: bigint;
  readonly until: bigint;
  /** Every try on the voucher of the rung. */
  readonly tries: readonly Try[];
}

/** The claim of a rung about an outage, from its row. */
export const sellsWithout = ({ servers, needed }: LockService, away: number): boolean =>
  servers.length - away >= needed;

/** The claim of the drill: sales are back so soon after the servers. */
const resumeWithinMs = 2_000;
const unavailable = 'lock-service-unavailable';

/** Before, during and after. What comes before a later outage came after the one before it. */
export function phasesOf(outage: Outage): Phase[] {
  const { rung, servers, tries } = outage;
  const { calmFrom, stopAt, downAt, startAt, backAt, until } = outage;
  const seen = (phase: string, from: bigint, to: bigint) =>
    phaseOf(rung, phase, sentBetween(tries, from, to));
  return [
    ...(servers.length === 1 ? [seen('before', calmFrom, stopAt)] : []),
    {
      ...seen(outageText(outage), downAt, startAt),
      withoutSalesMs: longestGapMs(outage),
      resumedAfterMs: resumedAfterMs(outage),
    },
    seen('after', backAt, until),
  ];
}

/**
 * By the times at which they were sent: a sale that was under way may be answered late, after its
 * release was sent to a stopped server. Also from the last sale to the end.
 */
export function longestGapMs({ tries, calmFrom, until }: Outage): number {
  const sales = sentBetween(tries, calmFrom, until).filter(isSale);
  return longestGapBetweenMs(sales.map(sentAt), calmFrom, until);
}

export function resumedAfterMs({ tries, backAt, until }: Outage): number | null {
  const sales = sentBetween(tries, backAt, until).filter(isSale).map(answeredAt);
  const answered = sales.filter((at) => at < until);
  return firstAfterMs(answered, backAt);
}

/**
 * `progress` counts too, where the rung claims that no lock stays behind: a release that a server
 * did not hear is sent again.
 */
export function judgedFindings(audited: Audited): AuditedFinding[] {
  const leaves = leavesLocks(audited.facts.rung);
  return findingsOf(audited).filter(({ finding }) => !leaves || finding.check !== 'progress');
}

/** The claim of a rung: what is granted to a caller that gave up stays. */
export function leavesLocks(name: string): boolean {
  const { breaks } = rungNamed(name);
  return breaks.some(({ under, check }) => under === 'servers-hung' && check === 'progress');
}

export function outageReasons(
  outages: readonly Outage[],
  findings: readonly AuditedFinding[],
): Pick<Judged, 'verdict' | 'reasons'> {
  const broken = outages.flatMap(violations);
  const missing = outages.flatMap(undecided);
  const audited = notHeldTexts(findings);
  const verdicts = findings.map(({ finding }) => finding.verdict);
  return drillVerdict(verdicts, { broken, audited, missing });
}

/** `2 of 3 stopped` */
export const outageText = ({ servers, masters, away }: Outage): string =>
  `${servers.length} of ${masters} ${away}`;

/** Of each rung: with how many servers away it sold on, and how soon it was back. */
export function conclusionsOf(outages: readonly Outage[]): Bilingual[] {
  return [...Map.groupBy(outages, ({ rung }) => rung)].map(([rung, own]) => {
    const told = (isSelling: boolean) =>
      own.filter((each) => soldMeanwhile(each).sold > 0 === isSelling).map(outageText);
    const back = own.map(resumedAfterMs);
    const ms = back.includes(null) ? null : Math.max(0, ...back.map(Number));
    const [sold, not] = [told(true), told(false)];
    return {
      en: `${rung} ${[
        ...(sold.length > 0 ? [`sold on with ${sold.join(', ')}`] : []),
        ...(not.length > 0 ? [`sold nothing with ${not.join(', ')}`] : []),
        ms === null ? 'it did not sell again after each of them' : `it sold again within ${ms} ms`,
      ].join('; ')}.`,
      zh: `${rung}：${[
        ...(sold.length > 0 ? [`${sold.join('、')} 时继续成交`] : []),
        ...(not.length > 0 ? [`${not.join('、')} 时没有成交`] : []),
        ms === null ? '之后没有全部恢复' : `修复后 ${ms} ms 内恢复成交`,
      ].join('；')}。`,
    };
  });
}

const nameOf = (outage: Outage): string => `${outage.rung}, ${outageText(outage)}`;

/** Sent and answered between `downAt` and `startAt`. */
const meanwhile = ({ tries, downAt, startAt }: Outage): Try[] =>
  sentBetween(tries, downAt, startAt).filter((each) => answeredAt(each) < startAt);

const violations = (outage: Outage): string[] => [
  ...wrongSales(outage),
  ...lateResumption(outage),
  ...wrongLocks(outage),
];

/** Locks that nobody holds, on a rung that claims to release them. */
export const wrongLocks = (outage: Outage): string[] =>
  outage.leavesLocks ? [] : leftLocksTexts(outage).map((text) => `${nameOf(outage)}: ${text}`);

export const leftLocksTexts = ({ leftLocks }: Pick<Outage, 'leftLocks'>): string[] =>
  leftLocks ? [`locks left that nobody holds: ${leftLocks}`] : [];

/** What the rung claims: that it sells on, or that it refuses and says why. */
export function wrongSales(outage: Outage): string[] {
  const { attempts, sold, away } = soldMeanwhile(outage);
  const name = nameOf(outage);
  if (outage.sells)
    return sold * 2 < attempts
      ? [`${name}: sold ${sold} in ${attempts} attempts, and should go on selling`]
      : [];
  if (sold > 0) return [`${name}: sold ${sold}, and should sell nothing`];
  return away > 0 ? [] : [`${name}: no attempt was refused as ${unavailable}`];
}

function lateResumption(outage: Outage): string[] {
  const resumed = resumedAfterMs(outage);
  if (resumed === null) return neverResumed(outage);
  return resumed > resumeWithinMs
    ? [`${nameOf(outage)}: the first sale was ${resumed} ms after the servers were back`]
    : [];
}

export const neverResumed = (outage: Outage): string[] =>
  resumedAfterMs(outage) === null ? [`${nameOf(outage)}: no sale after the servers were back`] : [];

/** Of the attempts that were sent and answered between `downAt` and `startAt`. */
export function soldMeanwhile(outage: Outage): { attempts: number; sold: number; away: number } {
  const answers = meanwhile(outage);
  const away = answers.filter(({ reason }) => reason === unavailable).length;
  return { attempts: answers.length, sold: answers.filter(isSale).length, away };
}

/** Without load an outage proves nothing. */
export function undecided(outage: Outage): string[] {
  const before = sentBetween(outage.tries, outage.calmFrom, outage.stopAt);
  const found: string[] = [];
  if (!before.some(isSale)) found.push(`${nameOf(outage)}: nobody bought before`);
  if (meanwhile(outage).length === 0) found.push(`${nameOf(outage)}: nobody tried meanwhile`);
  return found;
}
