/**
 * The words of a step. Where the rung with the bug shows its bug, they are those of the schedule:
 * they tell the bug. Everywhere else they say only where the lane is.
 */
import type { RefusalReason } from '../../service/domain.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { StepPlace } from '../../texts/text.ts';
import { type Language, texts } from '../../texts/texts.ts';
import type { PlayedStep, RaceResult } from '../play/race-verdict.ts';
import { schedules } from '../play/schedules.ts';
import { stepPlaceOf } from '../play/step-place.ts';

type Shown = Pick<RaceResult, 'race' | 'rung' | 'verdict' | 'waitsFor'>;

export function stepWords(step: PlayedStep, shown: Shown, language: Language): string {
  const showsBug = shown.verdict === 'violated' && shown.rung === schedules[shown.race].rung;
  const place = stepPlaceOf(step, shown.waitsFor);
  const isOfSchedule = place === undefined || (showsBug && step.asPlanned);
  const { text, textZh = text } = step;
  if (!isOfSchedule) return texts[language].steps[place];
  return language === 'zh' ? textZh : text;
}

/** The names of checkpoints and of answers are those of the code, in each language. */
type OfCode = CheckpointName | RefusalReason | 'sold' | 'accepted' | 'no-answer' | 'answer-lost';
type InWords = Exclude<StepPlace, OfCode> | 'injected' | 'healed';

/** In short. */
const inChinese: Readonly<Record<InWords, string>> = {
  ...{ killed: '已宕机', paused: '已暂停', resumed: '已继续', 'not-there': '没有到达' },
  ...{ slow: '太慢', 'no-lock-there': '那里没有锁', 'recorded-anyway': '仍然入库' },
  ...{ 'outlasts-the-lease': '超过租约', 'no-effect': '没有作用', 'nothing-to-hit': '跳过' },
  ...{ 'lease-over': '租约到期', 'still-locked': '锁还在', 'time-passes': '时间流逝' },
  ...{ 'waits-for-lock': '等待', 'waits-for-store': '等待', injected: '已注入', healed: '已恢复' },
};

const isInWords = (place: string): place is InWords => Object.hasOwn(inChinese, place);

/** Where a lane is after a step. */
export function placeWords(
  { at }: Pick<PlayedStep, 'at'>,
  { waitsFor }: Pick<Shown, 'waitsFor'>,
  language: Language,
): string {
  if (language === 'en') return at;
  const place = stepPlaceOf({ at }, waitsFor) ?? at;
  return isInWords(place) ? inChinese[place] : at.replace(/^order /, '订单 ');
}
