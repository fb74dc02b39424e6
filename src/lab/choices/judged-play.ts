/** Plays choices on a fresh voucher, and audits it. */
import { audit } from '../../audit/audit.ts';
import type { Finding } from '../../audit/finding.ts';
import { claimOf } from '../../ladder/claims.ts';
import { type RungName, rungNamed } from '../../ladder/rungs.ts';
import { isAboutData } from '../races/race-verdict.ts';
import type { Stage } from '../stage/stage.ts';
import { drained } from '../workload/drained.ts';
import type { Walk } from './explore.ts';
import { type Choice, ChoicePlay } from './play.ts';
import type { RowWaits } from './row-waits.ts';
import { lanesOf } from './set-up.ts';

export interface JudgedPlay extends Walk {
  readonly choices: readonly Choice[];
  /** Of checks about data. */
  readonly violated: readonly Finding[];
}

export interface PlayRequest {
  readonly rung: RungName;
  /** `AABB`: A is moved twice, then B. */
  readonly choices: string;
  /** Then the first lane that can go is chosen, again and again. */
  readonly toTheEnd: boolean;
}

/** Nothing expires while a play lasts: a lock is released, or is not, only by a choice. */
const settings = {
  LOCK_LEASE_MS: '600000',
  LOCK_WATCHDOG_MS: '600000',
  LOCK_WAIT_MS: '600000',
} as const;

/** An instance for each lane. */
export const serveLanes = (stage: Stage, lanes: number): Promise<void> =>
  stage.serve({ instances: lanes, balancer: 'nginx', settings });

export async function judgedPlay(
  stage: Stage,
  { rung, choices, toTheEnd }: PlayRequest,
  rowWaits: RowWaits,
): Promise<JudgedPlay> {
  const play = await ChoicePlay.begin(stage, rung, lanesOf(choices), rowWaits);
  const done: Choice[] = [];
  const steps: { lane: string; could: readonly string[] }[] = [];
  for (let index = 0; ; index++) {
    const could = play.canGo();
    const lane = choices[index] ?? (toTheEnd ? could[0] : undefined);
    if (lane === undefined) break;
    const choice = await play.choose(lane);
    done.push(choice);
    if (choice.taken) steps.push({ lane, could });
  }
  const rest = await play.finish();
  return {
    steps,
    choices: rest ? [...done, rest] : done,
    violated: await violatedBy(stage, play.voucherId),
  };
}

/** Without the history: that of many plays would be read again for each of them. */
async function violatedBy(stage: Stage, voucherId: string): Promise<Finding[]> {
  const facts = await drained(stage.connections, voucherId);
  const attempts = stage.tries.filter((each) => each.voucherId === voucherId);
  return audit({ ...facts, attempts }).findings.filter(
    ({ check, verdict }) => verdict === 'violated' && isAboutData(check),
  );
}

/** Whether requests at once, in several processes, break a promise about data. */
export const isClaimedToBreak = (rung: RungName): boolean =>
  claimOf(rungNamed(rung), 2).breaks.some(({ check }) => isAboutData(check));
