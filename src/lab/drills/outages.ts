/** What an outage of lock servers cost, and whether it went as claimed. Pure. */
import type { Finding } from '../../audit/finding.ts';
import { percentiles } from '../workload/percentiles.ts';
import type { Try } from '../workload/steady-purchases.ts';
import { type Audited, drillVerdict, findingText } from './audited.ts';
import type { DrillResult, Phase } from './drill.ts';
import { countBy } from './run-rung.ts';

/** One outage under load. The times are nanoseconds of the clock of the tries. */
export interface Outage {
  readonly rung: string;
  /** The servers that were stopped, of so many. */
  readonly stopped: readonly string[];
  readonly masters: number;
  /** The claim: what is left is enough to sell. */
  readonly sells: boolean;
  readonly calmFrom: bigint;
  readonly stopAt: bigint;
  /** From `downAt` to `startAt` the servers did not run. */
  readonly downAt: bigint;
  readonly startAt: bigint;
  readonly backAt: bigint;
  readonly until: bigint;
  /** Every try on the voucher of the rung. */
  readonly tries: readonly Try[];
}

/** The claim: sales are back so soon after the servers. */
const resumeWithinMs = 2_000;
const unavailable = 'lock-service-unavailable';

const sentAt = (attempt: Try): bigint => BigInt(attempt.sentAt ?? 0);
const answeredAt = (attempt: Try): bigint => BigInt(attempt.answeredAt ?? 0);
const isSale = ({ outcome }: Try): boolean => outcome === 'accepted';
const ms = (nanoseconds: bigint): number => Math.round(Number(nanoseconds) / 1_000_000);

const sentBetween = (tries: readonly Try[], from: bigint, to: bigint): Try[] =>
  tries.filter((each) => sentAt(each) >= from && sentAt(each) < to);

/** Before, during and after. What comes before a later outage came after the one before it. */
export function phasesOf(outage: Outage): Phase[] {
  const { rung, stopped, masters, tries } = outage;
  const { calmFrom, stopAt, downAt, startAt, backAt, until } = outage;
  const seen = (phase: string, from: bigint, to: bigint) =>
    phaseOf(rung, phase, sentBetween(tries, from, to));
  return [
    ...(stopped.length === 1 ? [seen('before', calmFrom, stopAt)] : []),
    {
      ...seen(`${stopped.length} of ${masters} stopped`, downAt, startAt),
      withoutSalesMs: longestGapMs(outage),
      resumedAfterMs: resumedAfterMs(outage),
    },
    seen('after', backAt, until),
  ];
}

function phaseOf(rung: string, phase: string, tries: readonly Try[]): Phase {
  const refused = tries.filter(({ outcome }) => outcome === 'refused');
  return {
    rung,
    phase,
    accepted: tries.filter(isSale).length,
    refusedBecause: countBy(refused.map(({ reason = 'no reason' }) => reason)),
    unknown: tries.filter(({ outcome }) => outcome === 'unknown').length,
    p99Ms: percentiles(tries.map(({ latencyMs }) => latencyMs)).p99,
  };
}

/**
 * By the times at which they were sent: a sale that was under way may be answered late, after its
 * release was sent to a stopped server. Also from the last sale to the end.
 */
function longestGapMs({ tries, calmFrom, until }: Outage): number {
  const sales = tries.filter(isSale).map(sentAt);
  const within = sales.filter((at) => at > calmFrom && at < until);
  const moments = [calmFrom, ...within, until].sort((one, other) => (one < other ? -1 : 1));
  const gaps = moments.slice(1).map((at, index) => ms(at - (moments[index] ?? at)));
  return Math.max(...gaps);
}

function resumedAfterMs({ tries, backAt, until }: Outage): number | null {
  const after = tries.filter((each) => isSale(each) && sentAt(each) >= backAt).map(answeredAt);
  const [first] = after.filter((at) => at < until).sort((one, other) => (one < other ? -1 : 1));
  return first === undefined ? null : ms(first - backAt);
}

export interface AuditedFinding {
  readonly voucherId: string;
  readonly finding: Finding;
}

/**
 * Without `progress`: a stopped server does not hear of a release, and has the lock until its lease
 * is over. So the user is refused as busy, with every lock that has a lease.
 */
export const judgedFindings = ({ facts, audit }: Audited): AuditedFinding[] =>
  audit.findings
    .filter(({ check }) => check !== 'progress')
    .map((finding) => ({ voucherId: facts.voucherId, finding }));

export function outageReasons(
  outages: readonly Outage[],
  findings: readonly AuditedFinding[],
): Pick<DrillResult, 'verdict' | 'reasons'> {
  const broken = outages.flatMap(violations);
  const missing = outages.flatMap(undecided);
  const audited = findings.filter(({ finding }) => finding.verdict !== 'held').map(describe);
  const verdicts = findings.map(({ finding }) => finding.verdict);
  return drillVerdict(verdicts, { broken, audited, missing });
}

const describe = ({ voucherId, finding }: AuditedFinding): string =>
  findingText(voucherId, finding);

const nameOf = ({ rung, stopped, masters }: Outage): string =>
  `${rung}, ${stopped.length} of ${masters} stopped`;

/** Sent and answered while the servers did not run. */
const meanwhile = ({ tries, downAt, startAt }: Outage): Try[] =>
  sentBetween(tries, downAt, startAt).filter((each) => answeredAt(each) < startAt);

function violations(outage: Outage): string[] {
  const answers = meanwhile(outage);
  const sold = answers.filter(isSale).length;
  const name = nameOf(outage);
  const found: string[] = [];
  if (outage.sells && sold * 2 < answers.length)
    found.push(`${name}: sold ${sold} in ${answers.length} attempts, and should go on selling`);
  if (!outage.sells && sold > 0) found.push(`${name}: sold ${sold}, and should sell nothing`);
  if (!outage.sells && sold === 0 && !answers.some(({ reason }) => reason === unavailable))
    found.push(`${name}: no attempt was refused as ${unavailable}`);
  const resumed = resumedAfterMs(outage);
  if (resumed === null) found.push(`${name}: no sale after the servers were back`);
  else if (resumed > resumeWithinMs)
    found.push(`${name}: the first sale was ${resumed} ms after the servers were back`);
  return found;
}

/** Without load an outage proves nothing. */
function undecided(outage: Outage): string[] {
  const before = sentBetween(outage.tries, outage.calmFrom, outage.stopAt);
  const found: string[] = [];
  if (!before.some(isSale)) found.push(`${nameOf(outage)}: nobody bought before`);
  if (meanwhile(outage).length === 0) found.push(`${nameOf(outage)}: nobody tried meanwhile`);
  return found;
}
