/**
 * The words of a step. Where the rung with the bug shows its bug, they are those of the schedule:
 * they tell the bug. Everywhere else they say only where the lane is.
 */
import { type Language, texts } from '../../ladder/texts/texts.ts';
import type { PlayedStep, RaceResult } from '../races/race-verdict.ts';
import { schedules } from '../races/schedules.ts';
import { said } from '../races/schedules-zh.ts';
import { stepPlaceOf } from '../races/step-place.ts';

type Shown = Pick<RaceResult, 'race' | 'rung' | 'verdict' | 'waitsFor'>;

export function stepWords(step: PlayedStep, shown: Shown, language: Language): string {
  const showsBug = shown.verdict === 'violated' && shown.rung === schedules[shown.race].rung;
  const place = stepPlaceOf(step, shown.waitsFor);
  const isOfSchedule = place === undefined || (showsBug && step.asPlanned);
  return isOfSchedule ? said(step.text)[language] : texts[language].steps[place];
}
