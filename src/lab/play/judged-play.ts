/** Plays choices on a fresh voucher, and audits it. */

import { audit } from '../../service/audit/audit.ts';
import { type Finding, findingLine } from '../../service/audit/check.ts';
import type { Attempt, Facts } from '../../service/audit/facts.ts';
import type { CheckName } from '../../service/domain.ts';
import { claimOf } from '../../service/ladder/rung.ts';
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import { labError } from '../errors.ts';
import { oneHourMs } from '../faults/process.ts';
import type { Stage } from '../stage/stage.ts';
import type { Walk } from './explore.ts';
import { choicesIn, lanesOf, type RaceChoices } from './letters.ts';
import { type Choice, ChoicePlay } from './play.ts';
import { isAboutData, ordinaryRefusals } from './race-verdict.ts';
import type { RowWaits } from './row-waits.ts';
import { Wire } from './wire.ts';

export interface JudgedPlay extends Walk {
  readonly choices: readonly Choice[];
  /** Of checks about data. */
  readonly violated: readonly Finding[];
  readonly facts: Facts;
}

/** What somebody asks to be played. */
export interface AskedPlay extends RaceChoices {
  readonly rung: RungName;
  /** Each choice says what it sent to Redis and MySQL. */
  readonly hasCommands?: boolean;
}

export interface PlayRequest extends AskedPlay {
  /** Then the first lane that can go is chosen, again and again. */
  readonly toTheEnd?: boolean;
  /** The stores are read at the end only. */
  readonly isQuick?: boolean;
}

const oneHour = String(oneHourMs);

/** No lease ends while a play lasts, and no wait for a lock: nothing happens without a choice. */
export const playSettings = {
  LOCK_LEASE_MS: oneHour,
  LOCK_WATCHDOG_MS: oneHour,
  LOCK_WAIT_MS: oneHour,
  MYSQL_ANSWER_MS: oneHour,
  BATCH_LIMIT_MS: oneHour,
  PROGRESS_WITHIN_MS: oneHour,
  MYSQL_POOL_SIZE: '60', // A lane that stands in its transaction keeps a connection.
  CLAIM_IDLE_MS: '500', // Only one order worker runs: nobody claims what it has in hand.
} as const;

/** An instance for each lane, and connections to what a play reads. */
export async function serveLanes(stage: Stage, lanes: number): Promise<void> {
  const shape = { instances: lanes, balancer: 'nginx', settings: playSettings } as const;
  await stage.serve({ ...shape, network: 'proxied' }); // Its servers can be cut off, and replaced.
  stage.connections.redlockMasters('admin'); // A client that is not ready refuses a command.
  await stage.connections.ready();
}

/** @throws CHOICES_DISTURBED, DEADLINE_PASSED: then it proves nothing */
export async function judgedPlay(
  stage: Stage,
  request: PlayRequest,
  rowWaits: RowWaits,
): Promise<JudgedPlay> {
  if (!request.hasCommands) return playAndJudge(stage, request, rowWaits);
  const wire = await Wire.tap(stage, rungNamed(request.rung));
  try {
    return await playAndJudge(stage, request, rowWaits, wire);
  } finally {
    await wire.end();
  }
}

async function playAndJudge(
  stage: Stage,
  request: PlayRequest,
  rowWaits: RowWaits,
  wire?: Wire,
): Promise<JudgedPlay> {
  const { rung, choices } = request;
  const play = await ChoicePlay.begin(stage, {
    rung,
    lanes: lanesOf(choices),
    rowWaits,
    planned: choices,
    ...(wire && { wire }),
    stopsEverywhere: request.stopsEverywhere ?? false,
    isObserved: !(request.toTheEnd || request.isQuick),
  });
  try {
    const walked = await walk(play, request);
    const rest = await play.finish();
    const judged = await judge(play);
    return { ...walked, ...judged, choices: rest ? [...walked.choices, rest] : walked.choices };
  } catch (error) {
    await play.abandon().catch(() => {});
    throw error;
  }
}

async function walk(
  play: ChoicePlay,
  { choices, toTheEnd }: PlayRequest,
): Promise<Pick<JudgedPlay, 'steps' | 'choices'>> {
  const done: Choice[] = [];
  const steps: { lane: string; could: readonly string[] }[] = [];
  const wanted = choicesIn(choices) ?? [];
  for (let index = 0; ; index++) {
    const could = play.canGo();
    const next = wanted[index] ?? (toTheEnd ? could[0] : undefined);
    if (next === undefined) return { steps, choices: done };
    const choice = await play.choose(next);
    done.push(choice);
    if (choice.taken) steps.push({ lane: choice.lane, could });
  }
}

/** Without the history: that of many plays would be read again for each of them. */
async function judge(play: ChoicePlay): Promise<Pick<JudgedPlay, 'violated' | 'facts'>> {
  const facts = await play.facts(true);
  const odd = facts.attempts?.find((attempt) => isOdd(attempt) && !play.explains(attempt));
  if (odd) throw labError('CHOICES_DISTURBED', `a purchase was ${odd.outcome}: ${odd.reason}`);
  const findings = audit(facts).findings.filter(({ check }) => isAboutData(check));
  const doubt = findings.find(({ verdict }) => verdict === 'unknown');
  if (doubt) throw labError('CHOICES_DISTURBED', findingLine(doubt));
  return { facts, violated: findings.filter(({ verdict }) => verdict === 'violated') };
}

/** An end that no choice brings: a server was slow, or is not there. */
const isOdd = ({ outcome, reason = '' }: Attempt): boolean =>
  outcome === 'unknown' || (outcome === 'refused' && !ordinaryRefusals.includes(reason));

/** The checks about data that requests at once, in several processes, break. */
export const claimedChecks = (rung: RungName): CheckName[] =>
  claimOf(rungNamed(rung), 2)
    .breaks.map(({ check }) => check)
    .filter(isAboutData);
