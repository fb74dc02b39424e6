/** The drills that are races under load: which race, on which rung. The ladder has the claims. */
import { type RaceDrill, raceDrill } from './race-drill.ts';

export const raceDrills = {
  'stale-promotion': raceDrill(
    {
      en: 'a replica without the lock is promoted, under redis-reentrant, multilock and redlock',
      zh: '没有锁的副本被提升：redis-reentrant、multilock、redlock',
    },
    0.5,
    [
      { race: 'stale-promotion', rung: 'redis-reentrant' },
      { race: 'stale-promotion', rung: 'multilock' },
      { race: 'stale-promotion', rung: 'redlock' },
    ],
  ),

  'paused-holder': raceDrill(
    {
      en: 'the owner stands still past its lease, on seven rungs: five locks, a fence and a unique key',
      zh: '持有者停住超过租约，在七个方案上：五种锁、栅栏令牌、唯一索引',
    },
    1,
    [
      { race: 'paused-holder', rung: 'redis-reentrant' },
      { race: 'paused-holder', rung: 'redis-atomic' },
      { race: 'paused-holder', rung: 'redlock' },
      { race: 'paused-holder', rung: 'multilock' },
      { race: 'paused-holder', rung: 'zookeeper' },
      { race: 'paused-holder', rung: 'fenced', refusesWrite: true },
      { race: 'paused-holder', rung: 'unique-rail', refusesWrite: true },
    ],
  ),

  'restart-empty': raceDrill(
    {
      en: 'a master restarts without its data, at once or after a lease, under redlock and multilock',
      zh: '一个主节点数据丢失后重启，立刻或过一个租约之后：redlock 和 multilock',
    },
    0.5,
    [
      { race: 'restart-empty', rung: 'redlock' },
      { race: 'restart-empty-delayed', rung: 'redlock' },
      { race: 'restart-empty', rung: 'multilock' },
    ],
  ),

  'zookeeper-session': raceDrill(
    {
      en: 'a session of ZooKeeper expires while its owner is paused, or cut off; the server restarts',
      zh: '持有者暂停或断网时 ZooKeeper 会话过期；服务器重启',
    },
    1.5,
    [
      { race: 'paused-holder', rung: 'zookeeper' },
      { race: 'holder-cut-off', rung: 'zookeeper' },
      { race: 'restart-with-data', rung: 'zookeeper' },
      { race: 'restart-empty', rung: 'zookeeper' },
    ],
  ),

  'slow-masters': raceDrill(
    {
      en: 'too many masters answer too late, or not at all, under multilock and redlock',
      zh: '太多主节点响应太慢或没有响应：multilock 和 redlock',
    },
    1,
    [
      { race: 'servers-slow', rung: 'redlock' },
      { race: 'servers-slow', rung: 'multilock' },
      { race: 'servers-hung', rung: 'redlock' },
      { race: 'servers-hung', rung: 'multilock' },
    ],
  ),

  'long-sale': raceDrill(
    {
      en: 'a sale longer than its lease: without a watchdog, with one, and with one that is cut off',
      zh: '业务比租约长：没有看门狗，有看门狗，看门狗被断网',
    },
    1,
    [
      { race: 'lease-expires-during-sale', rung: 'redis-atomic', phase: 'slow sale' },
      { race: 'lease-expires-during-sale', rung: 'redis-reentrant', phase: 'slow sale' },
      { race: 'holder-cut-off', rung: 'redis-reentrant' },
    ],
  ),

  'script-flush': raceDrill(
    {
      en: 'the lock servers forget every script (SCRIPT FLUSH), under redis-reentrant and redlock',
      zh: '锁服务器忘记所有脚本（SCRIPT FLUSH）：redis-reentrant 和 redlock',
    },
    1,
    [
      { race: 'scripts-forgotten', rung: 'redis-reentrant' },
      { race: 'scripts-forgotten', rung: 'redlock' },
      { race: 'renewal-forgotten', rung: 'redis-reentrant' },
    ],
  ),
} as const satisfies Record<string, RaceDrill>;
