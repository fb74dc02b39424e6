/**
 * The words of a step. Where the rung with the bug shows its bug, they are those of the schedule:
 * they tell the bug. Everywhere else they say only where the lane is.
 */
import type { StepPlace } from '../../ladder/texts/text.ts';
import { type Language, texts } from '../../ladder/texts/texts.ts';
import {
  hasBought,
  killed,
  leaseOver,
  locked,
  noEffect,
  nothingToHit,
  notLocked,
  outlastsLease,
  type PlayedStep,
  paused,
  type RaceResult,
  recordedAnyway,
  resumed,
  slow,
  timePasses,
  unreached,
  waits,
} from '../races/race-verdict.ts';
import { schedules } from '../races/schedules.ts';
import { inChinese } from '../races/schedules-zh.ts';

/** English words of a schedule in this language. */
export const told = (text: string, language: Language): string =>
  language === 'zh' ? (inChinese[text] ?? text) : text;

type Shown = Pick<RaceResult, 'race' | 'rung' | 'verdict' | 'waitsFor'>;

export function stepWords(step: PlayedStep, shown: Shown, language: Language): string {
  const { asPlanned, at, text } = step;
  const showsBug = shown.verdict === 'violated' && shown.rung === schedules[shown.race].rung;
  const isOfServers = at === 'injected' || at === 'healed';
  if ((showsBug && asPlanned) || isOfServers) return told(text, language);
  return texts[language].steps[placeOf(step, shown)];
}

const places: Readonly<Record<string, StepPlace>> = {
  [killed]: 'killed',
  [paused]: 'paused',
  [resumed]: 'resumed',
  [leaseOver]: 'lease-over',
  [locked]: 'still-locked',
  [timePasses]: 'time-passes',
  [nothingToHit]: 'nothing-to-hit',
  [noEffect]: 'no-effect',
  [unreached]: 'not-there',
  [slow]: 'slow',
  [notLocked]: 'no-lock-there',
  [recordedAnyway]: 'recorded-anyway',
  [outlastsLease]: 'outlasts-the-lease',
};

function placeOf(step: PlayedStep, { waitsFor }: Shown): StepPlace {
  const { at } = step;
  if (hasBought(step)) return 'sold';
  if (at === waits) return waitsFor === 'lock' ? 'waits-for-lock' : 'waits-for-store';
  const known = places[at];
  if (known !== undefined) return known;
  return isPlace(at) ? at : 'no-answer';
}

/** A checkpoint, or the reason of a refusal. */
const isPlace = (at: string): at is StepPlace => Object.hasOwn(texts.en.steps, at);
