/**
 * What a played race shows: the verdict on the promise that it is about, and the events that prove
 * it.
 */
import { audit } from '../../service/audit/audit.ts';
import { type Proof, proofOf } from '../../service/audit/evidence.ts';
import { type Attempt, confirmed, type Facts } from '../../service/audit/facts.ts';
import { evidenceOf, type Finding } from '../../service/audit/finding.ts';
import { mysqlRefusals, refusalEvidence } from '../../service/audit/mysql-refusals.ts';
import type { CheckName, Verdict } from '../../service/domain.ts';
import { showsInRush } from '../../service/ladder/claims.ts';
import type { Break, Rung } from '../../service/ladder/rung.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';

import { type RecordedEvidence, recordedEvidence } from '../../texts/evidence.ts';
import type { LabEvidence } from '../../texts/evidence-en.ts';
import { workerLane } from '../stage/lane-messages.ts';
import type { Stop } from '../stage/player.ts';
import type { RaceName, Schedule } from './schedules.ts';
import type { WaitsFor } from './waiting-process.ts';

/** One step, as it was played. */
export interface PlayedStep {
  readonly lane: string;
  /** What the step does on the rung with the bug. */
  readonly text: string;
  /** The same in Chinese. Missing in older files. */
  readonly textZh?: string;
  readonly wrong: boolean;
  /** True when the lane reached the checkpoint of the schedule. */
  readonly asPlanned: boolean;
  /** Where the lane is now: a checkpoint, an answer, or `waits`. */
  readonly at: string;
  readonly instance?: string;
}

/**
 * Where a lane is that reached no checkpoint: its process died, or stands still; a fault did not
 * find it; it is neither here nor waiting.
 */
export const killed = 'killed';
export const paused = 'paused';
export const resumed = 'resumed';
export const unreached = 'not there';
export const slow = 'slow';
/** For another lane. */
export const waits = 'waits';
/** A fault was to make a server forget the lock, and the server did not have it. */
export const notLocked = 'no lock there';
/** A fault was to keep the database from recording the order, and the order is there. */
export const recordedAnyway = 'recorded anyway';
/** A server that should be back within the lease was away for longer. */
export const outlastsLease = 'outlasts the lease';
/** A fault was injected, and nothing of it was seen. */
export const noEffect = 'no effect';
/** The lock has no such server. */
export const nothingToHit = 'nothing to hit';
/** The time of a lease has passed: the key is gone, is still there, or is none of Redis. */
export const leaseOver = 'lease over';
export const locked = 'still locked';
export const timePasses = 'time passes';

export interface RaceResult extends RecordedEvidence {
  readonly race: RaceName;
  readonly title: string;
  readonly rung: string;
  readonly shows: Schedule['shows'];
  readonly verdict: Verdict;
  readonly claim: Verdict;
  readonly asClaimed: boolean;
  readonly steps: readonly PlayedStep[];
  /** What a lane waits for that neither arrives nor is answered. */
  readonly waitsFor: WaitsFor;
  /** The other checks that broke. */
  readonly alsoBroken: readonly CheckName[];
  /** The smallest set of events and rows that proves the violation. */
  readonly proof?: Proof;
}

/** In a drill, other users buy too. Their ids begin here; those of the lanes are smaller. */
export const firstLoadUser = 1_001;

export type PlayedRace = RaceResult & {
  /** What it was judged by. */
  readonly facts: Facts;
  readonly stops: readonly Stop[];
  /** The machine was too slow for it: whatever broke proves nothing. */
  readonly isSlow: boolean;
};

/** What the player did, and where the lanes stood meanwhile. */
export interface PlayedSteps {
  readonly steps: readonly PlayedStep[];
  readonly stops: readonly Stop[];
}

export function raceVerdict(
  race: RaceName,
  rung: string,
  schedule: Schedule,
  { steps, stops }: PlayedSteps,
  facts: Facts,
): PlayedRace {
  const title = schedule.title.en;
  const findings = raceFindings(facts);
  const shows = showsOn(rungNamed(rung), schedule);
  const finding = findings.find(({ check }) => check === shows);
  const seen = finding?.verdict ?? 'unknown';
  const claim = claimOn(rungNamed(rung), schedule);
  const surprise = surprises(rungNamed(rung), schedule, findings);
  const isShown = seen === 'violated' && claim === 'violated' && surprise === null;
  const slowness = isShown ? null : tooSlow(steps, lanesOnly(facts), schedule);
  const isHeld = seen === 'held' && slowness === null;
  const doubt = isHeld
    ? inconclusive({ steps, stops }, lanesOnly(facts), findings, schedule)
    : slowness;
  const verdict = doubt === null ? seen : 'unknown';
  const asClaimed = verdict === claim && surprise === null;
  const result = {
    ...{ race, title, rung, shows, verdict, claim, asClaimed, steps, facts },
    ...{ waitsFor: waitsForOn(rungNamed(rung)), alsoBroken: brokenBeside(shows, findings) },
    ...{ isSlow: slowness !== null, stops },
  } as const;
  const undecided = seen === 'unknown' && finding ? evidenceOf(finding) : [];
  const doubts = [surprise, doubt, ...undecided].filter((each) => each !== null);
  const isViolated = verdict === 'violated' && finding !== undefined;
  const shown = isViolated ? evidenceOf(finding) : refusalEvidence(mysqlRefusals(facts));
  const found = doubts.length > 0 ? doubts : shown;
  const proof = isViolated && { proof: proofOf(finding, facts) };
  return { ...result, ...recordedEvidence(found), ...proof };
}

/** Without a lock a lane waits for rows of MySQL, where nobody sees it wait. */
export const waitsForOn = ({ lock }: Rung): WaitsFor => (lock === undefined ? 'store' : 'lock');

const brokenBeside = (shows: CheckName, findings: readonly Finding[]): CheckName[] =>
  findings
    .filter(({ check, verdict }) => check !== shows && verdict === 'violated')
    .map(({ check }) => check);

/** Wrong data stays. Two owners at once, or a lock that nobody gets, may have done no harm. */
export const isAboutData = (check: CheckName): boolean =>
  check !== 'mutual-exclusion' && check !== 'progress';

/**
 * What the audit finds, of every user: but `progress` is that of the lanes. In the load of a drill
 * a fault may lose a release; then the lock is busy until its lease ends: a cost of every lease.
 */
export function raceFindings(facts: Facts): readonly Finding[] {
  const ofLanes = audit(lanesOnly(facts)).findings;
  return audit(facts).findings.map((finding) =>
    finding.check === 'progress'
      ? (ofLanes.find(({ check }) => check === 'progress') ?? finding)
      : finding,
  );
}

export const isOfLoad = ({ userId }: { readonly userId: string }): boolean =>
  Number(userId) >= firstLoadUser;

/** Without the users of a drill's load. */
export function lanesOnly(facts: Facts): Facts {
  const isOwn = (each: { readonly userId: string }) => !isOfLoad(each);
  const { mysql, attempts, history } = facts;
  return {
    ...facts,
    mysql: { ...mysql, orders: mysql.orders.filter(isOwn) },
    ...(attempts && { attempts: attempts.filter(isOwn) }),
    ...(history && { history: history.filter(isOwn) }),
  };
}

/**
 * The breaks that the ladder claims for this race: those of any such rush, and those of the race's
 * circumstance.
 */
const claimed = ({ breaks }: Rung, { under, instances }: Schedule): readonly Break[] =>
  breaks.filter((each) => each.under === under || showsInRush(each.under, instances));

/** The ladder's claim for what the race shows on this rung. */
export function claimOn(rung: Rung, schedule: Schedule): Verdict {
  const shows = showsOn(rung, schedule);
  return claimed(rung, schedule).some(({ check }) => check === shows) ? 'violated' : 'held';
}

/**
 * What the race shows on this rung: wrong data that the rung claims under this circumstance; where
 * it does not promise the check, another break that it claims; without one, what every rung
 * promises.
 */
function showsOn({ breaks, onePerUser, lock }: Rung, { shows, under }: Schedule): CheckName {
  const own = breaks.filter((each) => each.under === under).map(({ check }) => check);
  if (own.includes(shows)) return shows;
  const isPromised =
    shows === 'one-order-per-user' ? onePerUser : shows !== 'mutual-exclusion' || lock;
  const wrongData = own.find(isAboutData);
  if (wrongData !== undefined) return wrongData;
  if (isPromised) return shows;
  return own[0] ?? 'no-oversell';
}

/** A check that broke and that the ladder does not claim. */
export function unclaimed(
  rung: Rung,
  schedule: Schedule,
  findings: readonly Finding[],
): LabEvidence | null {
  const expected = claimed(rung, schedule).map(({ check }) => check);
  const other = findings.find(
    ({ check, verdict }) => verdict === 'violated' && !expected.includes(check),
  );
  return other?.worst ? ['broken-without-claim', other.check, other.worst] : null;
}

/** One that is not claimed, or one that is claimed under this fault and that did not break. */
function surprises(
  rung: Rung,
  schedule: Schedule,
  findings: readonly Finding[],
): LabEvidence | null {
  const other = unclaimed(rung, schedule, findings);
  if (other !== null) return other;
  const byFault = rung.breaks.filter(({ under }) => under === schedule.under);
  const missing = byFault.find(
    ({ check }) => !findings.some((each) => each.check === check && each.verdict === 'violated'),
  );
  return missing ? ['claimed-and-not-broken', missing.check] : null;
}

/** The refusals that belong to a sale; any other means that the race was not played. */
export const ordinaryRefusals: readonly string[] = [
  'already-ordered',
  'sold-out',
  'busy',
  'conflict',
  'lease-lost',
  'stale-fence',
];

/** The request of a lane ends in the lane's name. */
const hasLostLease = (attempts: readonly Attempt[], lane: string): boolean =>
  attempts.some(
    ({ requestId, reason }) => requestId.endsWith(`-${lane}`) && reason === 'lease-lost',
  );

/** All of them, in a race without a fault. */
function stepsBeforeFault(
  played: readonly PlayedStep[],
  { steps }: Schedule,
): readonly PlayedStep[] {
  const fault = steps.findIndex((step) => !('run' in step));
  return fault === -1 ? played : played.slice(0, fault);
}

/** Why the machine could not play the race in the time of a lease; null when it could. */
function tooSlow(
  steps: readonly PlayedStep[],
  facts: Facts,
  schedule: Schedule,
): LabEvidence | null {
  const { attempts = [] } = facts;
  const { undisturbed = [] } = schedule;
  const late = undisturbed.find((lane) => hasLostLease(attempts, lane));
  if (late) return ['lease-lost-without-fault', late];
  const early = stepsBeforeFault(steps, schedule).find(({ at }) => at === 'lease-lost');
  if (early) return ['lease-lost-before-fault', early.lane];
  const first = steps.find((_, index) => 'run' in (schedule.steps[index] ?? {}));
  if (first?.at === waits) return ['first-waited', first.lane];
  const isLong = steps.some(({ at }) => at === outlastsLease);
  const isLost = attempts.some(({ reason }) => reason === 'lease-lost');
  if (isLong && isLost) return ['server-outlasted-lease'];
  return null;
}

/**
 * A lane that should have stopped at a place, and was answered instead. Where another lane was
 * there before it, a refusal is how the rung protects the sale. A sale is not: then the rung has no
 * such place, or its requests do not stop.
 */
function answeredEarly(
  steps: readonly PlayedStep[],
  { attempts = [], history = [] }: Facts,
  schedule: Schedule,
): LabEvidence | null {
  const runs = steps.flatMap((step, index) => {
    const planned = schedule.steps[index];
    return planned && 'run' in planned ? [{ step, until: planned.until }] : [];
  });
  const early = runs.find(
    ({ step, until }, index) =>
      until !== 'answer' &&
      (hasBought(step) || (index === 0 && attempts.some(({ reason }) => reason === step.at))),
  );
  if (!early) return null;
  const { lane, at } = early.step;
  const ids = attempts.filter(({ requestId }) => requestId.endsWith(`-${lane}`));
  const wasThere = history.some(
    ({ checkpoint, requestId }) =>
      checkpoint === early.until && ids.some((own) => own.requestId === requestId),
  );
  if (!wasThere) return ['cannot-be-interleaved', lane, early.until, at];
  const before = runs.slice(0, runs.indexOf(early));
  const stoodThere = before.some(({ step }) => step.lane === lane && step.at === early.until);
  return [stoodThere ? 'stood-there-before' : 'did-not-stop', lane, early.until, at];
}

/** What a purchase that stands still has not done itself: its lease ends, or its process. */
const passive: readonly string[] = ['expired', 'died'];

/** A lane that was seen at a place, and did not wait there until it was resumed. */
function wentOn(stops: readonly Stop[], { history = [] }: Facts): LabEvidence | null {
  const own = ({ lane, instance, from, to }: Stop) =>
    history.some(
      (event) =>
        (lane === workerLane
          ? event.instance === instance
          : event.requestId.endsWith(`-${lane}`)) &&
        isOfWorker(event) === (lane === workerLane) &&
        !passive.includes(event.event) &&
        BigInt(event.at) > BigInt(from) &&
        BigInt(event.at) < BigInt(to),
    );
  const stop = stops.find(own);
  return stop ? ['did-not-stay', stop.lane, stop.checkpoint] : null;
}

const ofWorker: readonly string[] = ['delivered', 'recording', 'recorded', 'dead-lettered'];
const isOfWorker = ({ event, checkpoint }: HistoryEvent): boolean =>
  ofWorker.includes(checkpoint ?? event);

/** The request was answered with an order. */
export const hasBought = ({ at }: Pick<PlayedStep, 'at'>): boolean => at.startsWith('order ');

/** Why a race in which nothing broke proves nothing; null when it was really played. */
function inconclusive(
  { steps, stops }: PlayedSteps,
  facts: Facts,
  findings: readonly Finding[],
  schedule: Schedule,
): LabEvidence | null {
  const { attempts = [] } = facts;
  const { expects = [] } = schedule;
  const known = [...ordinaryRefusals, ...expects];
  const early = answeredEarly(steps, facts, schedule) ?? wentOn(stops, facts);
  if (early) return early;
  if (steps.some(({ at }) => at === unreached)) return ['fault-without-request'];
  if (steps.some(({ at }) => at === noEffect)) return ['fault-without-effect'];
  if (steps.some(({ at }) => at === notLocked)) return ['lock-not-forgotten'];
  if (steps.some(({ at }) => at === recordedAnyway)) return ['order-recorded-anyway'];
  if (facts.redis && facts.redis.queued.length > 0) return ['order-queued'];
  if (steps.some(({ at }) => at === slow)) return ['lane-lost'];
  const wasKilled = steps.some(({ at }) => at === killed);
  const odd = attempts.find(
    ({ outcome, reason = '' }) =>
      (outcome === 'refused' && !known.includes(reason)) || (outcome === 'unknown' && !wasKilled),
  );
  if (odd) return ['odd-answer', odd.userId, odd.reason];
  const isAway = ({ reason = '' }: Attempt) => expects.includes(reason);
  if (expects.length > 0 && !attempts.some(isAway)) return ['answer-missing', expects];
  const isViolated = findings.some(({ verdict }) => verdict === 'violated');
  return confirmed(facts).length > 0 || isViolated ? null : ['nobody-bought'];
}
