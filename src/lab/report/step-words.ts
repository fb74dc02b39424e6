/**
 * The words of a step. Where the rung with the bug shows its bug, they are those of the schedule:
 * they tell the bug. Everywhere else they say only where the lane is.
 */
import { type Language, texts } from '../../texts/texts.ts';
import type { RaceResult } from '../play/race-verdict.ts';
import { schedules } from '../play/schedules.ts';
import type { PlayedStep } from '../stage/events.ts';
import { nameOfPlace } from '../stage/place.ts';

type ShownRace = Pick<RaceResult, 'race' | 'rung' | 'verdict'>;

export function stepWords(
  { place, says, asPlanned }: PlayedStep,
  { race, rung, verdict }: ShownRace,
  language: Language,
): string {
  const name = nameOfPlace(place);
  const isOfServers = name === 'injected' || name === 'healed';
  const showsBug = verdict === 'violated' && rung === schedules[race].rung;
  const isOfSchedule = isOfServers || (showsBug && asPlanned);
  return isOfSchedule ? says[language] : texts[language].steps[name];
}
