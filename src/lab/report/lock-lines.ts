/** The locks of now as lines for an 80-column terminal. */
import type { Language } from '../../texts/texts.ts';
import type { LockNow, PurchaseAtLock } from '../environment/locks-now.ts';

const en = {
  none: 'no lock is held, and nobody waits for one',
  heldBy: '  held by: ',
  waits: '  waits:   ',
  nobody: 'NOBODY; it is left over until its lease ends',
  ghosts: (count: number) => `in its queue, and in no living process: ${count}`,
  notInRedis: 'no key in Redis',
  left: (server: string, seconds: string | null) =>
    `${server}, ${seconds === null ? 'without end' : `${seconds} s left`}`,
  again: (times: number) => `, acquired ${times} times`,
  purchase: ({ instance, userId, orderId }: PurchaseAtLock) =>
    `${instance}, user ${userId}, order ${orderId}`,
};
type LockWords = typeof en;

const zh: LockWords = {
  none: '没有锁被持有，也没有人在等锁',
  heldBy: '  持有者：',
  waits: '  等待者：',
  nobody: '没有。这把锁是残留的，租约到期才会消失',
  ghosts: (count) => `还在队列里、但所在进程已不在的：${count}`,
  notInRedis: 'Redis 里没有 key',
  left: (server, seconds) =>
    `${server}，${seconds === null ? '没有过期时间' : `还剩 ${seconds} 秒`}`,
  again: (times) => `，重入 ${times} 次`,
  purchase: ({ instance, userId, orderId }) => `${instance}，用户 ${userId}，订单 ${orderId}`,
};

const words: Readonly<Record<Language, LockWords>> = { en, zh };

/** Each resource, and under it what each server has of it. */
export function lockLines(locks: readonly LockNow[], language: Language = 'en'): string {
  if (locks.length === 0) return words[language].none;
  const byResource = Map.groupBy(locks, ({ resource }) => resource);
  return [...byResource].map((each) => blockOf(each, words[language])).join('\n\n');
}

function blockOf([resource, locks]: readonly [string, readonly LockNow[]], say: LockWords): string {
  const { waiting = [], ghosts = 0 } = locks[0] ?? {};
  return [
    resource,
    ...locks.flatMap((each) => serverLines(each, say)),
    ...waiting.map((each) => say.waits + say.purchase(each)),
    ...(ghosts > 0 ? [`  ${say.ghosts(ghosts)}`] : []),
  ].join('\n');
}

function serverLines({ server, leftMs, holders, count: times }: LockNow, say: LockWords): string[] {
  const seconds = leftMs === null ? null : (leftMs / 1_000).toFixed(1);
  const place = server === null ? say.notInRedis : say.left(server, seconds);
  const by = holders.map((each) => say.heldBy + say.purchase(each));
  const nobody = server === null ? [] : [say.heldBy + say.nobody];
  return [`  ${place}${times > 1 ? say.again(times) : ''}`, ...(by.length > 0 ? by : nobody)];
}
