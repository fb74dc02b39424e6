/** Where a lane is after a step, in a word or two. */
import type { RefusalReason } from '../../service/domain.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { Language } from '../../texts/texts.ts';
import { nameOfPlace, type ReachedPlace } from '../stage/place.ts';

/** The names of checkpoints and of answers are those of the code, in each language. */
type OfCode = CheckpointName | RefusalReason | 'sold' | 'accepted' | 'no-answer' | 'answer-lost';
type InWords = Exclude<ReturnType<typeof nameOfPlace>, OfCode>;

const words: Readonly<Record<InWords, Readonly<Record<Language, string>>>> = {
  killed: { en: 'killed', zh: '已宕机' },
  paused: { en: 'paused', zh: '已暂停' },
  resumed: { en: 'resumed', zh: '已继续' },
  injected: { en: 'injected', zh: '已注入' },
  healed: { en: 'healed', zh: '已恢复' },
  'waits-for-lock': { en: 'waits', zh: '等待' },
  'waits-for-store': { en: 'waits', zh: '等待' },
  'lease-over': { en: 'lease over', zh: '租约到期' },
  'still-locked': { en: 'still locked', zh: '锁还在' },
  'time-passes': { en: 'time passes', zh: '时间流逝' },
  'no-lease': { en: 'no lease', zh: '没有租约' },
  'nothing-to-hit': { en: 'none on this rung', zh: '这个方案没有' },
  'not-there': { en: 'not there', zh: '没有到达' },
  slow: { en: 'slow', zh: '太慢' },
  'no-effect': { en: 'no effect', zh: '没有作用' },
  'no-lock-there': { en: 'no lock there', zh: '那里没有锁' },
  'recorded-anyway': { en: 'recorded anyway', zh: '仍然入库' },
  'outlasts-the-lease': { en: 'outlasts the lease', zh: '超过租约' },
};

const isInWords = (name: string): name is InWords => Object.hasOwn(words, name);

export function placeWords(place: ReachedPlace, language: Language): string {
  if (place.is === 'answered') return answerWords(place.attempt, language);
  const name = nameOfPlace(place);
  return isInWords(name) ? words[name][language] : name;
}

function answerWords({ outcome, reason, orderId }: Answer, language: Language): string {
  if (outcome === 'accepted') return `${language === 'zh' ? '订单' : 'order'} ${orderId}`;
  return String(reason);
}

type Answer = Extract<ReachedPlace, { readonly is: 'answered' }>['attempt'];
