/** Errata about the locks of the notes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import {
  createFolder,
  createNumbered,
  namesIn,
  remove,
} from '../../service/connections/zookeeper-nodes.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import { defaultKeyPrefix, type Lock } from '../../service/locks/lock.ts';
import { asOneOwner } from '../../service/locks/shared/owner.ts';
import { withStores } from '../../service/processes/with-stores.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Stage } from '../stage/stage.ts';
import { type Erratum, timesOf, withClient } from './erratum.ts';

const leaseUnits = 1_200;
const watchdogMs = 6_000;
const deadLeaseMs = 1_000;
const askedLeaseMs = 2_000;
const waitMs = 5_000;

/** That of redis-reentrant, in a process of its own as far as Redis can tell. */
const withWatchedLock = <T>(
  { connections: { config } }: Stage,
  leaseMs: number,
  work: (lock: Lock) => Promise<T>,
): Promise<T> =>
  withStores({ ...config, LOCK_WATCHDOG_MS: leaseMs }, async (connections) => {
    const lock = rungNamed('redis-reentrant').lock?.(connections);
    if (!lock) throw new Error('redis-reentrant has no lock');
    await connections.ready();
    return work(lock);
  });

/** As redis-reentrant does; its owner never comes back. */
const lockAsDead = (redis: Redis, resource: string) =>
  redis
    .multi()
    .hset(defaultKeyPrefix + resource, 'a dead owner', 1)
    .pexpire(defaultKeyPrefix + resource, deadLeaseMs)
    .exec();

export const lockErrata = {
  'multi-cannot-decide': {
    says: {
      en: 'Redis runs commands as a batch; a comparison in between ends that atomicity, so take a script',
      zh: 'Redis 批处理执行命令，中途加入判断就会解除原子性，所以用脚本',
    },
    truth: {
      en: 'This is so, and here it is: in MULTI the answer to GET is QUEUED. The value comes with EXEC, when DEL has been done. WATCH can decide, because EXEC refuses after a change; it costs three more trips, and a connection that nobody shares.',
      zh: '这句话没错，这里跑给你看：MULTI 里 GET 只回 QUEUED，等 EXEC 给出值，DEL 已经做完。WATCH 可以判断，因为 key 变了 EXEC 就拒绝；代价是多三次往返，还要独占一条连接。',
    },
    play: ({ stage, redis: shared, key, tell }) =>
      withClient(stage, 'admin', async (redis) => {
        await redis.set(key, 'another owner', 'PX', 60_000);
        await redis.multi({ pipeline: false });
        const seen: string | null = await redis.get(key);
        await redis.del(key);
        const [[, owner] = [], [, deleted] = []] = (await redis.exec()) ?? [];
        tell(
          `MULTI, GET: ${seen}, DEL, EXEC: the owner was "${owner}", keys deleted: ${deleted}`,
          `MULTI，GET：${seen}，DEL，EXEC：持有者是“${owner}”，删掉的 key：${deleted}`,
        );
        await redis.set(key, 'me', 'PX', 60_000);
        await redis.watch(key);
        const mine = await redis.get(key);
        await shared.set(key, 'another owner', 'PX', 60_000);
        const answer = await redis.multi().del(key).exec();
        const left = await redis.getdel(key);
        tell(
          `WATCH, GET: ${mine}, then another owner has it: EXEC: ${answer}, the key: ${left}`,
          `WATCH，GET：${mine}，然后锁换了主人：EXEC：${answer}，key：${left}`,
        );
        return seen === 'QUEUED' && deleted === 1 && answer === null && left === 'another owner';
      }),
  },
  'lease-units': {
    says: {
      en: 'tryLock(1200) with SECONDS; the text beside it: NX PX 1200, PX 1200000, EX 120',
      zh: 'tryLock(1200) 用的是 SECONDS；旁边的说明却是 NX PX 1200、PX 1200000、EX 120',
    },
    truth: {
      en: 'These are 20 minutes, 1.2 seconds and 2 minutes. When its owner dies, the first one keeps its user out for 20 minutes.',
      zh: '它们分别是 20 分钟、1.2 秒和 2 分钟。持有者宕机后，第一种会让用户等上 20 分钟。',
    },
    async play({ redis, key, tell }) {
      const [inMs, inSeconds] = [`${key}-ms`, `${key}-s`];
      await redis.set(inMs, 'a dead owner', 'PX', leaseUnits, 'NX');
      await redis.set(inSeconds, 'a dead owner', 'EX', leaseUnits, 'NX');
      await waitUntil('the short lease to end', 10_000, async () => !(await redis.exists(inMs)));
      const leftMs = await redis.pttl(inSeconds);
      const left = Math.round(leftMs / 1_000);
      tell(
        `SET … PX 1200: gone. SET … EX 1200: blocked for ${left} s more`,
        `SET … PX 1200：已经到期。SET … EX 1200：还要再锁 ${left} 秒`,
      );
      await redis.del(inSeconds);
      return leftMs > 1_000_000;
    },
  },
  'renewed-at-half': {
    says: { en: 'the watchdog renews after half of the lease', zh: '看门狗在租约过半时续期' },
    truth: {
      en: 'After a third (internalLockLeaseTime / 3), so that one lost renewal can be repeated.',
      zh: '是三分之一（internalLockLeaseTime / 3）：丢了一次续期，还来得及再续一次。',
    },
    async play({ stage, redis, key: resource, tell }) {
      const leftAtRenewals: number[] = [];
      let beforeMs = watchdogMs;
      await withWatchedLock(stage, watchdogMs, async (lock) => {
        const lease = await lock.acquire(resource, { waitMs: 0 });
        while (leftAtRenewals.length < 2) {
          await sleep(20, undefined, { signal: stage.signal });
          const leftMs = await redis.pttl(`${defaultKeyPrefix}${resource}`);
          if (leftMs < 0) throw new Error('the lock is not where it was looked for');
          if (leftMs > beforeMs) leftAtRenewals.push(beforeMs);
          beforeMs = leftMs;
        }
        await lease?.release();
      });
      tell(
        `a lease of ${watchdogMs} ms was renewed with ${leftAtRenewals.join(' and ')} ms left`,
        `${watchdogMs} ms 的租约，续期时还剩 ${leftAtRenewals.join(' ms 和 ')} ms`,
      );
      return Math.max(...leftAtRenewals) > watchdogMs / 2;
    },
  },
  'dead-owner-sends-nothing': {
    says: {
      en: 'not free: subscribe, wait for the release message at most min(ttl, time left), try again',
      zh: '拿不到锁：订阅，最多等 min(ttl, 剩余时间) 的释放消息，再试一次',
    },
    truth: {
      en: 'This is so, and here it is: a dead owner sends no message. Its lease ends the wait for one, and the waiter has the lock.',
      zh: '这句话没错，这里跑给你看：宕机的持有者不会发消息。它的租约一到期，等待者就不再等消息，直接拿到锁。',
    },
    play: ({ stage, redis, key: resource, tell }) =>
      withClient(stage, 'subscriber', async (subscriber) => {
        const messages = timesOf(subscriber, 'pmessage');
        await subscriber.psubscribe(`*${resource}*`);
        const waited = await withWatchedLock(stage, watchdogMs, async (lock) => {
          await lockAsDead(redis, resource);
          const startedAt = performance.now();
          const lease = await lock.acquire(resource, { waitMs });
          const ms = Math.round(performance.now() - startedAt);
          const heard = messages();
          await lease?.release();
          return { isGranted: lease !== null, ms, heard };
        });
        const [granted, grantedZh] = waited.isGranted
          ? ['has', '拿到了']
          : ['does not have', '没拿到'];
        tell(
          `the lease of the dead owner: ${deadLeaseMs} ms; messages: ${waited.heard}`,
          `宕机的持有者的租约：${deadLeaseMs} ms；收到的消息：${waited.heard}`,
        );
        tell(
          `after ${waited.ms} of ${waitMs} ms the waiter ${granted} the lock`,
          `最多等 ${waitMs} ms，等待者 ${waited.ms} ms 之后${grantedZh}锁`,
        );
        return waited.isGranted && waited.ms < waitMs && waited.heard === 0;
      }),
  },
  'multilock-collects-longer': {
    says: {
      en: 'MultiLock: newLeaseTime is leaseTime, or 2 × waitTime while it waits for the others',
      zh: 'MultiLock：newLeaseTime 是 leaseTime，等其他锁的时候是 waitTime × 2',
    },
    truth: {
      en: 'This is so, and here it is: the lease on the first master must outlast the wait for the last one. When it has them all, each gets the lease that was asked for.',
      zh: '这句话没错，这里跑给你看：第一个主节点上的租约，要比等最后一个主节点的时间长。全部拿到之后，再统一设成要的租约。',
    },
    play: ({ stage, key: resource, tell }) =>
      withStores(stage.connections.config, async (connections) => {
        const lock = rungNamed('multilock').lock?.(connections);
        const masters = connections.redlockMasters(); // By address, as the lock asks them.
        await connections.ready();
        const leftMs = (redis: Redis) => redis.pttl(`${defaultKeyPrefix}${resource}`);
        const [first, last] = [masters[0], masters.at(-1)];
        if (!lock || !first || !last) throw new Error('multilock has no masters');
        await lockAsDead(last, resource);
        const waiting = lock.acquire(resource, { waitMs, leaseMs: askedLeaseMs });
        await waitUntil(
          'the lock on the first master',
          waitMs,
          async () => (await leftMs(first)) > 0,
        );
        const collectingMs = await leftMs(first);
        const lease = await waiting;
        const heldMs = await Promise.all(masters.map(leftMs));
        await lease?.release();
        tell(
          `a lease of ${askedLeaseMs} ms, a wait of ${waitMs}: while the last master is waited for, the first one has ${collectingMs} ms`,
          `租约 ${askedLeaseMs} ms，最多等 ${waitMs} ms：等最后一个主节点时，第一个上的租约还剩 ${collectingMs} ms`,
        );
        tell(`with all of them: ${heldMs.join(', ')} ms`, `全部拿到之后：${heldMs.join('、')} ms`);
        const isLonger = collectingMs > waitMs && collectingMs <= 2 * waitMs;
        return isLonger && heldMs.every((ms) => ms > 0 && ms <= askedLeaseMs);
      }),
  },
  'worker-never-unlocks': {
    says: {
      en: 'the worker takes lock:order:<user> with tryLock() and does not unlock it; when it is not free, it logs 不允许重复下单 and returns',
      zh: '消费者用 tryLock() 拿 lock:order:<用户>，用完不 unlock；拿不到就打一行日志“不允许重复下单”，然后 return',
    },
    truth: {
      en: 'The watchdog renews that lock for as long as the process lives. The next order of this user, for another voucher, meets it in another process: it was accepted, and is dropped. One thread hides it, because the lock is its own.',
      zh: '进程活着，看门狗就一直续。这个用户的下一单（另一张券）到了另一个进程，拿不到锁：已经返回成功的订单就这样丢了。只有一个线程时看不出来，因为锁是它自己的（可重入）。',
    },
    async play({ stage, key, tell }) {
      const resource = `${key}:user:7`;
      const recorded: string[] = [];
      const leases: { release(): Promise<void> }[] = [];
      /** As the worker of the notes: its lease is not released. */
      const handle = (lock: Lock, voucher: string) =>
        asOneOwner(async () => {
          const lease = await lock.acquire(resource, { waitMs: 0 });
          if (!lease) return;
          leases.push(lease);
          recorded.push(voucher);
        });
      await withWatchedLock(stage, 1_500, (one) =>
        withWatchedLock(stage, 1_500, async (other) => {
          await handle(one, '1');
          await sleep(4_000, undefined, { signal: stage.signal }); // Longer than two leases.
          await handle(other, '2');
          for (const lease of leases) await lease.release();
        }),
      );
      tell(
        'accepted: the order of voucher 1 and, four seconds later, that of voucher 2',
        '已受理：券 1 的订单，四秒后又有券 2 的订单',
      );
      tell(
        `recorded by the two workers: the order of voucher ${recorded.join(', of voucher ')}`,
        `两个消费者写进库的：券 ${recorded.join('、券 ')} 的订单`,
      );
      return recorded.length === 1;
    },
  },
  'one-folder': {
    says: {
      en: 'all locks are nodes in /lock, sorted by name; the comment: find the node "a little larger"',
      zh: '所有锁都是 /lock 下的节点，按名字排序；注释写“找到比自己大一点的节点”',
    },
    truth: {
      en: 'Names of different locks are sorted together, so a lock waits for a stranger. And the code takes the node before its own, which is the smaller one. Here each resource has a folder.',
      zh: '不同的锁排在一起，于是等的是别人的锁。而且代码取的是前一个，也就是比自己小的节点。这里每个资源有自己的目录。',
    },
    async play({ stage, key, tell }) {
      const session = stage.connections.zookeeper().session();
      const folder = `/${key}`;
      await createFolder(session, folder);
      const created = [];
      for (const lock of ['order8-', 'order7-'])
        created.push(await createNumbered(session, `${folder}/${lock}`));
      const sorted = (await namesIn(session, folder)).toSorted();
      const own = created[0]?.split('/').at(-1) ?? '';
      const place = sorted.indexOf(own) + 1;
      tell(
        'user 8 asks for lock order8 first, then user 7 for order7',
        '用户 8 先申请锁 order8，用户 7 随后申请 order7',
      );
      tell(`sorted: ${sorted.join(', ')}`, `排序后：${sorted.join('、')}`);
      tell(
        `the only node of order8 is at place ${place}: it waits for order7`,
        `order8 唯一的节点排在第 ${place} 位：它在等 order7`,
      );
      for (const name of sorted) await remove(session, `${folder}/${name}`);
      await remove(session, folder);
      return place === 2;
    },
  },
} as const satisfies Record<string, Erratum>;
