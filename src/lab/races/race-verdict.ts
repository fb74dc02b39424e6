/** What a played race shows: the verdict on the promise that it is about, and the events that prove it. */
import { audit } from '../../audit/audit.ts';
import { type Proof, proofOf } from '../../audit/evidence.ts';
import { confirmed, type Facts } from '../../audit/facts.ts';
import type { Verdict } from '../../domain.ts';
import { showsInRush } from '../../ladder/claims.ts';
import type { Rung } from '../../ladder/rung.ts';
import { type RungName, rungNamed } from '../../ladder/rungs.ts';
import type { RaceName, Schedule } from './schedules.ts';

/** One step, as it was played. */
export interface Played {
  readonly lane: string;
  /** What the step does on the rung with the bug. */
  readonly text: string;
  readonly wrong: boolean;
  /** True when the lane reached the checkpoint of the schedule. */
  readonly asPlanned: boolean;
  /** Where the lane is now: a checkpoint, an answer, or `waits`. */
  readonly at: string;
  readonly instance?: string;
}

/** The place of a lane that a kill step did not find at its checkpoint. */
export const notKilled = 'not there to be killed';

export interface RaceResult {
  readonly race: RaceName;
  readonly title: string;
  readonly rung: RungName;
  readonly shows: Schedule['shows'];
  readonly verdict: Verdict;
  readonly claim: Verdict;
  readonly asClaimed: boolean;
  readonly steps: readonly Played[];
  /** The smallest set of events and rows that proves the violation. */
  readonly proof?: Proof;
  readonly evidence: string;
}

/** With the facts that it was judged by. */
export type PlayedRace = RaceResult & { readonly facts: Facts };

export function raceVerdict(
  race: RaceName,
  rung: RungName,
  schedule: Schedule,
  steps: Played[],
  facts: Facts,
): PlayedRace {
  const { shows, title } = schedule;
  const finding = audit(facts).findings.find(({ check }) => check === shows);
  const isPlayed = wasSold(facts) && !steps.some(({ at }) => at === notKilled);
  const seen = finding?.verdict ?? 'unknown';
  const verdict = seen === 'held' && !isPlayed ? 'unknown' : seen;
  const claim = claimOn(rungNamed(rung), schedule);
  const asClaimed = verdict === claim;
  const result = { race, title, rung, shows, verdict, claim, asClaimed, steps, facts } as const;
  if (verdict === 'violated' && finding)
    return { ...result, evidence: finding.worst ?? '', proof: proofOf(finding, facts) };
  return {
    ...result,
    evidence: verdict === 'held' ? '' : `${rung} does not promise it, or has no such step`,
  };
}

/** The ladder's claim for this race on this rung: what any such rush breaks, and what the race's circumstance breaks. */
export function claimOn({ breaks }: Rung, { under, shows, instances }: Schedule): Verdict {
  const applies = breaks.filter(
    (each) => each.under === under || showsInRush(each.under, instances),
  );
  return applies.some(({ check }) => check === shows) ? 'violated' : 'held';
}

/** Where nobody could buy at all, nothing went wrong, and nothing was shown. */
const wasSold = (facts: Facts): boolean =>
  confirmed(facts).length > 0 ||
  (facts.attempts ?? []).some(
    ({ outcome, reason }) => outcome === 'accepted' || reason === 'already-ordered',
  );
