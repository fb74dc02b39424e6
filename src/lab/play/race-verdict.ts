/**
 * What a played race shows: the verdict on the promise that it is about, and the events that prove
 * it.
 */
import { audit, type Proof, proofOf } from '../../service/audit/audit.ts';
import { evidenceOf, type Finding } from '../../service/audit/check.ts';
import { type Attempt, confirmed, type Facts } from '../../service/audit/facts.ts';
import { mysqlRefusals, refusalEvidence } from '../../service/audit/sections.ts';
import type { CheckName, Verdict } from '../../service/domain.ts';
import { type Break, type Rung, showsInRush } from '../../service/ladder/rung.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import { type RecordedEvidence, recordedEvidence } from '../../texts/evidence.ts';
import type { LabEvidence } from '../../texts/evidence-en.ts';
import type { PlayedStep, RaceEvent, StageEvent } from '../stage/events.ts';
import { workerLane } from '../stage/lane-messages.ts';
import { hasBought, isMissed, type Miss, type ReachedPlace, reasonAt } from '../stage/place.ts';
import type { Stop } from '../stage/player.ts';
import { placeWords } from './place-words.ts';
import { type RaceName, type Schedule, schedules } from './schedules.ts';

export interface RaceResult extends RecordedEvidence {
  readonly race: RaceName;
  readonly title: string;
  readonly rung: string;
  readonly shows: Schedule['shows'];
  readonly verdict: Verdict;
  readonly claim: Verdict;
  readonly asClaimed: boolean;
  readonly steps: readonly PlayedStep[];
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
type PlayedSteps = Pick<PlayedRace, 'steps' | 'stops'>;

/** What the audit has seen; `unknown` where a doubt says that the race was not played. */
export function raceVerdict(
  race: RaceName,
  rung: string,
  { steps, stops }: PlayedSteps,
  facts: Facts,
): PlayedRace {
  const schedule: Schedule = schedules[race];
  const own = lanesOnly(facts);
  const findings = raceFindings(facts);
  const shows = showsOn(rungNamed(rung), schedule);
  const finding = findings.find(({ check }) => check === shows);
  const seen = finding?.verdict ?? 'unknown';
  const claim = claimOn(rungNamed(rung), schedule);
  const surprise = surprises(rungNamed(rung), schedule, findings);
  const isShown = seen === 'violated' && claim === 'violated' && surprise === null;
  const slowness = isShown ? null : tooSlow(steps, own, schedule);
  const isHeld = seen === 'held' && slowness === null;
  const doubt = isHeld ? inconclusive({ steps, stops }, own, findings, schedule) : slowness;
  const verdict = doubt === null ? seen : 'unknown';
  const undecided = seen === 'unknown' && finding ? evidenceOf(finding) : [];
  const doubts = [surprise, doubt, ...undecided].filter((each) => each !== null);
  const isViolated = verdict === 'violated' && finding !== undefined;
  const shown = isViolated ? evidenceOf(finding) : refusalEvidence(mysqlRefusals(facts));
  return {
    race,
    title: schedule.title.en,
    rung,
    shows,
    verdict,
    claim,
    asClaimed: verdict === claim && surprise === null,
    steps,
    facts,
    alsoBroken: brokenBeside(shows, findings),
    isSlow: slowness !== null,
    stops,
    ...recordedEvidence(doubts.length > 0 ? doubts : shown),
    ...(isViolated && { proof: proofOf(finding, facts) }),
  };
}

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

/** Without the users of a drill's load. */
export function lanesOnly(facts: Facts): Facts {
  const isOwn = ({ userId }: { readonly userId: string }) => Number(userId) < firstLoadUser;
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
  const fault = steps.findIndex(({ act }) => act !== 'run');
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
  const early = stepsBeforeFault(steps, schedule).find(
    ({ place }) => reasonAt(place) === 'lease-lost',
  );
  if (early) return ['lease-lost-before-fault', early.lane];
  const first = steps.find((_, index) => schedule.steps[index]?.act === 'run');
  if (first?.place.is === 'waits') return ['first-waited', first.lane];
  const isLong = steps.some(({ place }) => isMissed(place, 'outlasts-the-lease'));
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
    return planned?.act === 'run' ? [{ step, until: planned.until }] : [];
  });
  const early = runs.find(
    ({ step, until }, index) =>
      until !== 'answer' &&
      (hasBought(step.place) || (index === 0 && isAnswerOf(step.place, attempts))),
  );
  if (!early) return null;
  const { lane, place } = early.step;
  const ids = attempts.filter(({ requestId }) => requestId.endsWith(`-${lane}`));
  const wasThere = history.some(
    ({ checkpoint, requestId }) =>
      checkpoint === early.until && ids.some((own) => own.requestId === requestId),
  );
  const reached = placeWords(place, 'en');
  if (!wasThere) return ['cannot-be-interleaved', lane, early.until, reached];
  const before = runs
    .slice(0, runs.indexOf(early))
    .flatMap(({ step }) => (step.lane === lane ? step.place : []));
  const stoodThere = before.some((at) => at.is === 'at' && at.checkpoint === early.until);
  return [stoodThere ? 'stood-there-before' : 'did-not-stop', lane, early.until, reached];
}

const isAnswerOf = (place: ReachedPlace, attempts: readonly Attempt[]): boolean =>
  place.is === 'answered' && attempts.some(({ reason }) => reason === place.attempt.reason);

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
  const missed = (because: Miss) => steps.some(({ place }) => isMissed(place, because));
  if (missed('not-there')) return ['fault-without-request'];
  if (missed('no-effect')) return ['fault-without-effect'];
  if (missed('no-lock-there')) return ['lock-not-forgotten'];
  if (missed('recorded-anyway')) return ['order-recorded-anyway'];
  if (facts.redis && facts.redis.queued.length > 0) return ['order-queued'];
  if (missed('slow')) return ['lane-lost'];
  const wasKilled = steps.some(({ place }) => place.is === 'dead');
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

export function raceBegun({ race, rung }: Pick<RaceResult, 'race' | 'rung'>): RaceEvent {
  const { title, lanes, steps, rung: rungWithBug }: Schedule = schedules[race];
  const names = [...new Set([...Object.keys(lanes), ...steps.map(({ lane }) => lane)])];
  return {
    kind: 'race',
    race,
    rung,
    title,
    isOfBug: rung === rungWithBug,
    lanes: names.map((name) => ({ name, ...(lanes[name] && { userId: lanes[name] }) })),
  };
}

export const stepEvent = (step: PlayedStep): RaceEvent => ({ kind: 'step', ...step });

export function raceJudged(result: RaceResult): RaceEvent {
  const { shows, verdict, asClaimed: isAsClaimed, alsoBroken, proof } = result;
  const { evidence, evidenceZh } = result;
  const judged = { shows, verdict, isAsClaimed, evidence, alsoBroken };
  return {
    kind: 'race-judged',
    ...judged,
    ...(evidenceZh !== undefined && { evidenceZh }),
    ...(proof && { proof }),
  };
}

/** Of a race that was played: its file shows them without servers. */
export const eventsOfRace = (result: RaceResult): StageEvent[] =>
  [raceBegun(result), ...result.steps.map(stepEvent), raceJudged(result)].map((event, index) => ({
    ...event,
    number: index + 1,
    at: '0',
  }));
