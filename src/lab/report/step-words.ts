/**
 * The words of a step. Where the rung with the bug shows its bug, they are those of the schedule:
 * they tell the bug. Everywhere else they say only where the lane is.
 */
import { type Language, texts } from '../../ladder/texts/texts.ts';
import {
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
import { said } from '../races/schedules-zh.ts';
import { stepPlaceOf } from '../races/step-place.ts';

type Shown = Pick<RaceResult, 'race' | 'rung' | 'verdict' | 'waitsFor'>;

export function stepWords(step: PlayedStep, shown: Shown, language: Language): string {
  const showsBug = shown.verdict === 'violated' && shown.rung === schedules[shown.race].rung;
  const place = stepPlaceOf(step, shown.waitsFor);
  const isOfSchedule = place === undefined || (showsBug && step.asPlanned);
  return isOfSchedule ? said(step.text)[language] : texts[language].steps[place];
}

/** The names of checkpoints and of answers are those of the code, in each language. */
const inChinese: Readonly<Record<string, string>> = {
  ...{ [killed]: '已宕机', [paused]: '已暂停', [resumed]: '已继续', [unreached]: '没有到达' },
  ...{ [slow]: '太慢', [waits]: '等待', [notLocked]: '那里没有锁', [recordedAnyway]: '仍然入库' },
  ...{ [outlastsLease]: '超过租约', [noEffect]: '没有作用', [nothingToHit]: '没有目标' },
  ...{ [leaseOver]: '租约到期', [locked]: '锁还在', [timePasses]: '时间流逝' },
};

/** Where a lane is after a step. */
export const placeWords = (at: string, language: Language): string =>
  language === 'zh' ? (inChinese[at] ?? at.replace(/^order /, '订单 ')) : at;
