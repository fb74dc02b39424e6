/** What a race tells while it is played. A recorded race tells the same again. */
import type { RaceEvent, StageEvent } from '../stage/events.ts';
import type { Bilingual } from '../stage/result.ts';
import type { PlayedStep, RaceResult } from './race-verdict.ts';
import { laneOf, type Schedule, schedules } from './schedules.ts';
import { stepKindOf, stepPlaceOf } from './step-place.ts';
import type { WaitsFor } from './waiting-process.ts';

export function raceBegun({ race, rung }: Pick<RaceResult, 'race' | 'rung'>): RaceEvent {
  const { title, lanes, steps, rung: rungWithBug }: Schedule = schedules[race];
  const names = [...new Set([...Object.keys(lanes), ...steps.map(laneOf)])];
  return {
    ...{ kind: 'race', race, rung, title, isOfBug: rung === rungWithBug },
    lanes: names.map((name) => ({ name, ...(lanes[name] && { userId: lanes[name] }) })),
  };
}

/** In English where an older file has no Chinese. */
const toldOf = ({ text, textZh = text }: PlayedStep): Bilingual => ({ en: text, zh: textZh });

export function stepEvent(step: PlayedStep, waitsFor: WaitsFor): RaceEvent {
  const { lane, at: reached, asPlanned, instance, wrong: isWrong } = step;
  const place = stepPlaceOf(step, waitsFor);
  return {
    ...{
      kind: 'step',
      lane,
      is: stepKindOf(step),
      reached,
      asPlanned,
      says: toldOf(step),
      isWrong,
    },
    ...(instance && { instance }),
    ...(place && { place }),
  };
}

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
  [
    raceBegun(result),
    ...result.steps.map((step) => stepEvent(step, result.waitsFor)),
    raceJudged(result),
  ].map((event, index) => ({ ...event, number: index + 1, at: '0' }));
