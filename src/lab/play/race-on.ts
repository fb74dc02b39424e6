/** Plays a race in the shape that it needs: its number of instances, and short leases. */

import { audit } from '../../service/audit/audit.ts';
import type { Verdict } from '../../service/domain.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import { type Bilingual, verdictText } from '../../texts/texts.ts';
import type { Progress } from '../environment/lab.ts';
import type { Network, ServiceShape } from '../environment/servers/service.ts';
import { evidenceIn, ofName } from '../stage/result.ts';
import type { Experiment, Stage } from '../stage/stage.ts';
import { playRace, raceSettings } from './play-race.ts';
import { isAboutData, type PlayedRace } from './race-verdict.ts';
import { hasLockFaults, type RaceName, type Schedule, schedules } from './schedules.ts';

/** Wrong data is shown, however slow the machine was: some rungs must never let it happen. */
export function tooSlowBecause(
  played: Pick<PlayedRace, 'race' | 'rung' | 'isSlow' | 'evidence' | 'evidenceZh' | 'facts'>,
): Bilingual | undefined {
  const { race, rung, isSlow, evidence, facts } = played;
  const isDataWrong = audit(facts).findings.some(
    ({ check, verdict }) => verdict === 'violated' && isAboutData(check),
  );
  if (!isSlow || isDataWrong) return undefined;
  return ofName(raceOnRung(race, rung), { en: evidence, zh: evidenceIn('zh', played) });
}

/** `lost-update on read-then-write` */
export const raceOnRung = (race: string, rung: string): Bilingual => ({
  en: `${race} on ${rung}`,
  zh: `${rung} 上的 ${race}`,
});

export const verdictOn = (race: string, rung: string, verdict: Verdict): Bilingual =>
  ofName(raceOnRung(race, rung), verdictText(verdict));

/** @param calm the network of a race without faults in the lock servers. */
export function shapeOfRace(name: RaceName, calm: Network = 'direct'): ServiceShape {
  const schedule: Schedule = schedules[name];
  const network = hasLockFaults(schedule) ? 'proxied' : calm;
  return { instances: schedule.instances, balancer: 'nginx', settings: raceSettings, network };
}

export async function raceOn(
  stage: Stage,
  name: RaceName,
  rung: RungName,
  calm: Network = 'direct',
): Promise<PlayedRace> {
  const playIn = async () => {
    await stage.serve(shapeOfRace(name, calm));
    return playRace(stage, name, rung);
  };
  return replayWhileTooSlow(playIn, tooSlowBecause, (text) => stage.note(text), stage.signal);
}

/** A slow machine leaves a race undecided: then it is played again, and the command says so. */
const playsMax = 3;

/**
 * @param undecidedBecause why a play counts for nothing; undefined when it counts.
 * @throws the reason of `signal`, before a play.
 */
export async function replayWhileTooSlow<Play>(
  play: () => Promise<Play>,
  undecidedBecause: (play: Play) => Bilingual | undefined,
  progress: Progress,
  signal?: AbortSignal,
): Promise<Play> {
  for (let plays = 1; ; plays++) {
    signal?.throwIfAborted();
    const last = await play();
    const reason = undecidedBecause(last);
    if (reason === undefined || plays === playsMax) return last;
    progress({ en: `${reason.en}. It is played again.`, zh: `${reason.zh}。再跑一次。` });
  }
}

export const raceExperiment: Experiment<{ name: RaceName; rung: RungName }, PlayedRace> = {
  about: {
    en: 'a famous race, step by step',
    zh: '一个著名的竞态，一步一步',
  },
  play: async (stage, { name, rung }) => {
    const played = await raceOn(stage, name, rung);
    const { verdict, asClaimed: isAsClaimed, alsoBroken, evidence, facts } = played;
    const reasons = evidence === '' ? [] : [{ en: evidence, zh: evidenceIn('zh', played) }];
    const judged = { verdict, isAsClaimed, alsoBroken, reasons };
    return { ...judged, figures: {}, facts: [facts], own: played };
  },
};
