/** What a choice did, in words. The same words as in the races, where there are such. */
import { type Language, texts } from '../../texts/texts.ts';
import { workerLane } from '../stage/lane-messages.ts';
import type { Place } from '../stage/place.ts';
import { brokenText, mendedText } from './fault-choices.ts';
import { actOf } from './letters.ts';

const en = {
  title: 'What each choice did',
  head: ['choice', 'what happened'],
  commands: 'What each choice sent to Redis and MySQL',
  commandsHead: ['choice', 'command'],
  onNextRung: (command: string) => `on the next rung: ${command}`,
  idle: 'has not begun',
  paused: 'stands still, with its process',
  dead: 'is killed, with its process',
  free: 'has no order in hand',
  stopped: 'is stopped',
  order: (words: string, orderId: string) => `${words} (order ${orderId})`,
  waitsForRow: 'waits for a row of the database',
  waitsForLock: 'waits for a lock that no buyer here has',
  waitsFor: (lane: string, isDead: boolean) =>
    `waits for the lock of ${lane}${isDead ? ', whose process was killed' : ''}`,
  did: (does: string, to: string, isRenewed: boolean) =>
    ({
      'end-lease': `the lease of ${to} ends`,
      'pass-time': `the lease of ${to} ${isRenewed ? 'is renewed' : 'ends: nobody renews it'}`,
      block: `the event loop of ${to} is blocked`,
      resume: `the process of ${to} runs again`,
      'lose-answer': `the answer of ${to} will be lost`,
      forget: `${to} will forget to release its lock`,
      nest: `${to} will buy inside its own lock`,
      break: brokenText(to, 'en'),
      'cut-off': brokenText(to, 'en'),
      mend: mendedText(to, 'en'),
      kill: to === workerLane ? 'the process of W is killed; another starts' : undefined,
      stop: `${to === workerLane ? 'the order worker' : to} stops`,
      start: `${to === workerLane ? 'the order worker' : to} runs again`,
    })[does],
  atOnce: (lanes: readonly string[]) => `${lanes.join(' and ')} have the lock at once`,
  nothing: (does: string, to: string) =>
    ({
      'end-lease': `nothing: ${to} has no lease that can end`,
      'pass-time': `nothing: ${to} has no lease that can end`,
      block: `nothing: the event loop of ${to} cannot be blocked now`,
      worker: 'nothing: that cannot be done to W now',
      stop: `nothing: this rung does not ask ${to}, or it is stopped already`,
      start: `nothing: ${to} is not stopped`,
      pause: `nothing: the process of ${to} cannot be paused now`,
      'lose-answer': `nothing: the next answer of ${to} cannot be lost now`,
      resume: `nothing: the process of ${to} is not paused`,
      forget: `nothing: ${to} has asked for its lock already, or has none`,
      nest: `nothing: ${to} has asked for its lock already, or has none`,
      break: 'nothing: that cannot be broken here now',
      'cut-off': `nothing: ${to} cannot be cut off now`,
      mend: 'nothing: that is not broken',
    })[does],
  noWorkerLane: 'nothing: the order worker is no lane on this rung',
  stuck: (lane: string, place: string) => `nothing: ${lane} ${place}`,
  isAnswered: 'is answered',
};
type ChoiceWords = typeof en;

const zh: ChoiceWords = {
  title: '每一步做了什么',
  head: ['选择', '发生了什么'],
  commands: '每一步发给 Redis 和 MySQL 的命令',
  commandsHead: ['选择', '命令'],
  onNextRung: (command) => `在下一个方案上：${command}`,
  idle: '还没有开始',
  paused: '和进程一起停住了',
  dead: '和进程一起被杀死了',
  free: '手里没有订单',
  stopped: '已停止',
  order: (words, orderId) => `${words}（订单 ${orderId}）`,
  waitsForRow: '等待数据库里的一行',
  waitsForLock: '等待一把锁，持有它的不是这里的买家',
  waitsFor: (lane, isDead) => `等待 ${lane} 的锁${isDead ? '，而它的进程已被杀死' : ''}`,
  did: (does, to, isRenewed) =>
    ({
      'end-lease': `${to} 的租约结束`,
      'pass-time': `${to} 的租约${isRenewed ? '已续期' : '到期：没有续期'}`,
      block: `${to} 的事件循环被阻塞`,
      resume: `${to} 的进程恢复运行`,
      'lose-answer': `${to} 的下一个响应会丢失`,
      forget: `${to} 会忘记释放锁`,
      nest: `${to} 会在自己的锁里购买`,
      break: brokenText(to, 'zh'),
      'cut-off': brokenText(to, 'zh'),
      mend: mendedText(to, 'zh'),
      kill: to === workerLane ? 'W 的进程被杀死，另一个启动' : undefined,
      stop: `${to === workerLane ? '订单消费者' : to} 停止`,
      start: `${to === workerLane ? '订单消费者' : to} 重新运行`,
    })[does],
  atOnce: (lanes) => `${lanes.join(' 和 ')} 同时持有锁`,
  nothing: (does, to) =>
    ({
      'end-lease': `没有变化：${to} 没有可以结束的租约`,
      'pass-time': `没有变化：${to} 没有可以结束的租约`,
      block: `没有变化：现在不能阻塞 ${to} 的事件循环`,
      worker: '没有变化：现在不能对 W 这样做',
      stop: `没有变化：这个方案不用 ${to}，或者它已经停了`,
      start: `没有变化：${to} 没有停`,
      pause: `没有变化：现在不能暂停 ${to} 的进程`,
      'lose-answer': `没有变化：现在不能让 ${to} 的响应丢失`,
      resume: `没有变化：${to} 的进程没有暂停`,
      forget: `没有变化：${to} 已经请求过锁，或者没有锁`,
      nest: `没有变化：${to} 已经请求过锁，或者没有锁`,
      break: '没有变化：现在不能注入这个故障',
      'cut-off': `没有变化：现在不能让 ${to} 断网`,
      mend: '没有变化：没有这个故障',
    })[does],
  noWorkerLane: '没有变化：在这个方案里，订单消费者不是时间线',
  stuck: (lane, place) => `没有变化：${lane} ${place}`,
  isAnswered: '已经得到响应',
};

export const choiceWords: Readonly<Record<Language, ChoiceWords>> = { en, zh };

/** Where a lane stands. */
export function placeText(place: Place, language: Language): string {
  const say = choiceWords[language];
  const words: Readonly<Record<string, string>> = texts[language].steps;
  if (place.is === 'idle') return say.idle;
  if (place.is === 'at') return atText(place, words[place.checkpoint] ?? place.checkpoint, say);
  if (place.is === 'waits') return waitText(place, say);
  if (place.is !== 'answered') return say[place.is];
  const { outcome, reason = '', orderId = '' } = place.attempt;
  if (outcome === 'accepted') return say.order(words['sold'] ?? '', orderId);
  return words[reason] ?? `${outcome}: ${reason}`;
}

const atText = (
  { orderId }: Extract<Place, { readonly is: 'at' }>,
  words: string,
  say: ChoiceWords,
): string => (orderId === undefined ? words : say.order(words, orderId));

function waitText(place: Extract<Place, { readonly is: 'waits' }>, say: ChoiceWords): string {
  if (place.on === 'row') return say.waitsForRow;
  if (place.for === undefined) return say.waitsForLock;
  return say.waitsFor(place.for, place.isForDead ?? false);
}

/** Why a choice could not be taken: its lane stands at this place. */
export function stuckText(choice: string, lane: string, place: Place, language: Language): string {
  const say = choiceWords[language];
  const { does, to } = actOf(choice);
  const isOfWorker = to === workerLane && does !== 'move' && does !== 'end-lease';
  const why = say.nothing(isOfWorker ? 'worker' : does, to);
  const at = place.is === 'answered' ? say.isAnswered : placeText(place, language);
  return why ?? say.stuck(lane, at);
}
