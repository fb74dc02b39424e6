/** What a played race shows: the verdict on the one thing that it is about, and the events that prove it. */
import { type Audit, audit } from '../audit/audit.ts';
import { counterExample } from '../audit/counter-example.ts';
import type { Facts } from '../audit/facts.ts';
import type { Verdict } from '../domain.ts';
import type { HistoryEvent } from '../history.ts';
import type { RungName } from '../ladder.ts';
import type { RaceName, Schedule } from './schedules.ts';

/** What happened at one step. */
export interface Played {
  readonly lane: string;
  /** What the schedule says it shows on the rung that has the race. */
  readonly says: string;
  readonly wrong: boolean;
  /** Where the lane stands: a checkpoint, an answer, or `waits`. */
  readonly at: string;
  readonly instance?: string;
}

export interface RaceResult {
  readonly race: RaceName;
  readonly title: string;
  readonly rung: RungName;
  readonly shows: Schedule['shows'];
  readonly verdict: Verdict;
  readonly claim: Verdict;
  readonly asClaimed: boolean;
  readonly steps: readonly Played[];
  /** The smallest set of events that proves the violation. */
  readonly proof: readonly HistoryEvent[];
  readonly evidence: string;
}

export function judge(
  race: RaceName,
  rung: RungName,
  schedule: Schedule,
  steps: Played[],
  facts: Facts,
): RaceResult {
  const { shows, title } = schedule;
  const audited = audit(facts);
  const verdict = verdictOn(shows, audited, facts);
  const claim: Verdict = rung === schedule.rung ? 'violated' : 'held';
  const finding = audited.findings.find(({ check }) => check === shows);
  const busy = facts.attempts?.find(({ reason }) => reason === 'busy');
  const evidence =
    verdict !== 'violated'
      ? ''
      : shows === 'nobody-can-buy'
        ? `user ${busy?.userId} is refused as busy, and nobody alive is in the section`
        : (finding?.worst ?? '');
  const proof = verdict === 'violated' && shows !== 'nobody-can-buy' ? counterExample(shows, facts) : [];
  return { race, title, rung, shows, verdict, claim, asClaimed: verdict === claim, steps, proof, evidence };
}

function verdictOn(shows: Schedule['shows'], { findings }: Audit, { attempts = [] }: Facts): Verdict {
  if (shows !== 'nobody-can-buy') return findings.find(({ check }) => check === shows)?.verdict ?? 'unknown';
  return attempts.some(({ reason }) => reason === 'busy') ? 'violated' : 'held';
}
