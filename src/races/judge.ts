/** What a played race shows: the verdict on the one thing that it is about, and the events that prove it. */
import { audit } from '../audit/audit.ts';
import {
  counterExample,
  nobodyCanBuy,
  type Proof,
  refusedBesideAFreeLock,
} from '../audit/counter-example.ts';
import type { Facts } from '../audit/facts.ts';
import type { Verdict } from '../domain.ts';
import { claimOf, type Rung, type RungName, rungNamed } from '../ladder.ts';
import type { RaceName, Schedule } from './schedules.ts';

/** What happened at one step. */
export interface Played {
  readonly lane: string;
  /** What the schedule says it shows on the rung that has the race. */
  readonly says: string;
  readonly wrong: boolean;
  /** It came to where the schedule says. */
  readonly asPlanned: boolean;
  /** Where the lane stands: a checkpoint, an answer, or `waits`. */
  readonly at: string;
  readonly instance?: string;
}

/** Where a lane stands that was to be killed, and had never come so far. */
export const notThere = 'not there to be killed';

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

/** With what it was judged by. */
export type PlayedRace = RaceResult & { readonly facts: Facts };

export function judge(
  race: RaceName,
  rung: RungName,
  schedule: Schedule,
  steps: Played[],
  facts: Facts,
): PlayedRace {
  const { shows, title } = schedule;
  const finding = audit(facts).findings.find(({ check }) => check === shows);
  const busy = refusedBesideAFreeLock(facts);
  const seen = shows === 'somebody-can-buy' ? (busy ? 'violated' : 'held') : (finding?.verdict ?? 'unknown');
  const isPlayed = anybodyBought(facts) && !steps.some(({ at }) => at === notThere);
  const verdict = seen === 'held' && !isPlayed ? 'unknown' : seen;
  const claim = claimOn(rungNamed(rung), schedule);
  const result = {
    race,
    title,
    rung,
    shows,
    verdict,
    claim,
    asClaimed: verdict === claim,
    steps,
    facts,
  } as const;
  if (verdict === 'held') return { ...result, evidence: '' };
  if (verdict === 'unknown')
    return { ...result, evidence: `${rung} does not promise it, or has no such step` };
  if (finding) return { ...result, evidence: finding.worst ?? '', proof: counterExample(finding, facts) };
  const evidence = `user ${busy?.userId} is refused as busy, and nobody else is in the section`;
  return { ...result, evidence, proof: nobodyCanBuy(facts) };
}

/** What the ladder says of this race on this rung: what any such rush breaks, and what its circumstance does. */
function claimOn(rung: Rung, { under, shows, instances }: Schedule): Verdict {
  const always = claimOf(rung, instances).breaks;
  const breaks = [...always, ...rung.breaks.filter((each) => each.under === under)];
  return breaks.some(({ check }) => check === shows) ? 'violated' : 'held';
}

/** Where nobody could buy for whatever reason, nothing went wrong, and nothing was shown. */
const anybodyBought = ({ attempts = [] }: Facts): boolean =>
  attempts.some(({ outcome, reason }) => outcome === 'accepted' || reason === 'already-ordered');
