/**
 * The table of mutants: the final rung without one of its defences. `turnsRed` is the check that
 * must see it, under the fault that the defence is for.
 */
import type { Bilingual } from '../stage/result.ts';
import type { Change } from './change.ts';
import type { TrialCheck } from './run-trial.ts';
import type { TrialName } from './trials.ts';

interface Defence {
  /** The defence that is removed, for people. */
  readonly defence: Bilingual;
  /** The fault that the defence is for. */
  readonly trial: TrialName;
  readonly turnsRed: TrialCheck;
}

/** A change of the code, or of settings of redis-main before the trial. */
export type Mutant = Defence & (Change | { readonly redis: Readonly<Record<string, string>> });

export const mutants = {
  'no-claim-loop': {
    defence: { en: 'idle orders are claimed', zh: '闲置的订单会被认领' },
    trial: 'worker-dies',
    turnsRed: 'orders-settle',
    file: 'service/queues/shared/stream-reader',
    find: 'if (performance.now() >= claimAt) return claim();',
  },
  'early-acknowledgement': {
    defence: {
      en: 'an order is acknowledged after the commit only',
      zh: '提交之后才确认（ACK）订单',
    },
    trial: 'worker-dies',
    turnsRed: 'no-lost-orders',
    file: 'service/queues/redis-stream-group',
    find: 'const ids = taken.length > 0 ? await handle(taken) :',
    replace: `const ids = new Set(taken.map(({ order }) => order.id));
    await acknowledge(redis, shard, entries, ids);
    if (taken.length > 0) await handle(taken); else`,
  },
  'not-idempotent': {
    defence: {
      en: 'the same request is one purchase, however often the script runs',
      zh: '同一个请求只算一次下单，脚本跑多少遍都一样',
    },
    trial: 'answer-lost',
    turnsRed: 'responses-match-database',
    file: 'lua/sale/purchase.lua',
    find: `if boughtBy == requestId then return { 'accepted', boughtId } end
           return { 'already-ordered', boughtId }`,
    replace: `if boughtBy ~= requestId then return { 'already-ordered', boughtId } end`,
  },
  'no-unique-key': {
    defence: {
      en: 'MySQL has a unique key over voucher and user',
      zh: 'MySQL 里（券，用户）有唯一键',
    },
    trial: 'file-cut-same-user',
    turnsRed: 'one-order-per-user',
    file: 'service/orders/record-orders',
    find: 'railed.has(voucherId) ? 1 : null',
    replace: 'null',
  },
  'new-id-in-worker': {
    defence: {
      en: 'the order id is made once, before the script',
      zh: '订单 id 只生成一次，在脚本之前',
    },
    trial: 'worker-dies-after-commit',
    turnsRed: 'no-phantom-orders',
    file: 'service/orders/record-orders',
    find: '=> [ id, voucherId, userId, requestId, railed.has(voucherId)',
    replace: `=> [
      String(process.hrtime.bigint()), voucherId, userId, requestId, railed.has(voucherId)`,
  },
  'no-append-only-file': {
    defence: { en: 'Redis writes an append-only file', zh: 'Redis 写 AOF' },
    trial: 'redis-killed',
    turnsRed: 'no-lost-orders',
    redis: { appendonly: 'no' },
  },
  'no-tombstone': {
    defence: {
      en: 'MySQL has the failed row before the purchase is undone in Redis',
      zh: '先在 MySQL 写入 failed 行，再在 Redis 撤销下单',
    },
    trial: 'late-worker',
    turnsRed: 'redis-matches-mysql',
    file: 'service/orders/dead-letters',
    find: 'const isFailed = await insertTombstone(pool, order, reason);',
    replace: 'const isFailed = true;',
  },
  'no-delivery-limit': {
    defence: {
      en: 'an order that MySQL refuses is dead-lettered after five refusals',
      zh: 'MySQL 拒绝五次的订单进入死信',
    },
    trial: 'row-refused',
    turnsRed: 'orders-settle',
    file: 'service/orders/work-orders',
    find: 'const refusalsMax = 5;',
    replace: 'const refusalsMax = Infinity;',
  },
  'group-from-now': {
    defence: {
      en: 'a lost group is created from the beginning of the stream',
      zh: '消费组丢失后，从 Stream 开头重建',
    },
    trial: 'group-lost',
    turnsRed: 'orders-settle',
    file: 'service/queues/redis-stream-group',
    find: `'CREATE', orders, orderGroup, '0'`,
    replace: `'CREATE', orders, orderGroup, '$'`,
  },
  'trimmed-stream': {
    defence: {
      en: 'nothing but the acknowledgement removes an order from the stream',
      zh: '只有确认（ACK）才把订单移出 Stream',
    },
    trial: 'workers-away',
    turnsRed: 'orders-settle',
    file: 'lua/sale/purchase.lua',
    find: `redis.call('XADD', KEYS[3], '*',`,
    replace: `redis.call('XADD', KEYS[3], 'MAXLEN', '1', '*',`,
  },
  'consumers-removed-early': {
    defence: {
      en: 'a consumer with pending orders is not removed from the group',
      zh: '还有未确认订单的消费者不会被移出消费组',
    },
    trial: 'worker-stops',
    turnsRed: 'orders-settle',
    file: 'lua/sale/remove-consumers.lua',
    find: 'isMeant and consumer.pending == 0 and',
    replace: 'isMeant and',
  },
  'no-rollback': {
    defence: {
      en: 'every error of a transaction is followed by a rollback',
      zh: '事务里出任何错都回滚',
    },
    trial: 'statement-killed',
    turnsRed: 'no-oversell', // The next transaction of its connection commits it.
    file: 'service/connections/mysql',
    find: 'connection.rollback().then(',
    replace: 'Promise.resolve().then(',
  },
  'check-in-a-snapshot': {
    defence: {
      en: 'one order per user is a unique key, and no SELECT in REPEATABLE READ',
      zh: '一人一单靠唯一键，不靠 REPEATABLE READ 里的 SELECT',
    },
    trial: 'file-cut-two-at-once',
    turnsRed: 'one-order-per-user',
    file: 'service/orders/record-orders',
    find: `'READ COMMITTED', async (db) => {
      if (epoch !== '') await stayInEpoch(db, epoch);
      await insert(db, orders, railed);`,
    replace: `'REPEATABLE READ', async (db) => {
      if (epoch !== '') await stayInEpoch(db, epoch);
      const users = orders.map(({ voucherId, userId }) => [voucherId, userId]);
      const [found] = await db.query(
        "SELECT id FROM orders WHERE (voucher_id, user_id) IN (?) AND status = 'confirmed'",
        [users],
      );
      if (found.length > 0) throw Object.assign(new Error('found'), { errno: 1062 });
      await insert(db, orders, new Set());`,
  },
  'compensates-twice': {
    defence: { en: 'an order is given back once', zh: '一个订单只归还一次' },
    trial: 'worker-dies-after-dead-letter',
    turnsRed: 'redis-matches-mysql',
    file: 'lua/sale/give-back.lua',
    find: `if not bought or string.match(bought, '^(%d+):') ~= ARGV[1] then
           return 'already-given-back' end`,
  },
  'compensates-unknown': {
    defence: {
      en: 'a purchase whose outcome is unknown is not undone',
      zh: '结果不明的下单不撤销',
    },
    trial: 'answer-late',
    turnsRed: 'redis-matches-mysql',
    file: 'service/inventory/shared/purchase-script',
    find: `return answerAll(buyers, unknownBecause(cause), askedAtMs);`,
    replace: `{
      const undo = ({ voucherId, userId }) => {
        const undoing = redis.multi().hincrby(shard.voucher(voucherId), 'stock', 1);
        undoing.hdel(shard.buyers(voucherId), userId);
        undoing.exec().catch(() => setTimeout(undo, 20, { voucherId, userId }));
      };
      for (const { order } of buyers) undo(order);
      return answerAll(buyers, unknownBecause(cause), askedAtMs);
    }`,
  },
  'claims-only-others': {
    defence: {
      en: 'a worker also claims what is pending under its own name',
      zh: 'worker 也认领自己名下未确认的订单',
    },
    trial: 'batch-fails',
    turnsRed: 'orders-settle',
    file: 'service/queues/shared/stream-reader',
    find: 'const answer = await this.#redis.xautoclaim(this.#orders, orderGroup, this.#name, ...rest);',
    replace: `const idle = ['IDLE', idleMs, '-', '+', this.#count];
    const pending = await this.#redis.xpending(this.#orders, orderGroup, ...idle);
    const ids = pending.filter(([, owner]) => owner !== this.#name).map(([id]) => id);
    const claimed = ids.length === 0
      ? []
      : await this.#redis.xclaim(this.#orders, orderGroup, this.#name, idleMs, ...ids);
    const answer = ['0-0', claimed];`,
  },
  'sold-out-for-ever': {
    defence: {
      en: 'an instance forgets after a second that a voucher is sold out',
      zh: '实例记住“已售罄”只有一秒',
    },
    trial: 'stock-comes-back',
    turnsRed: 'responses-match-database',
    file: 'service/inventory/shared/sold-out-memory',
    find: 'if (nowMs < known.askMs) return true;',
    replace: 'return true;',
  },
  'stock-not-checked': {
    defence: { en: 'MySQL takes stock only where there is some', zh: 'MySQL 只在有库存时扣减' },
    trial: 'file-cut-last-unit',
    turnsRed: 'no-oversell',
    file: 'service/orders/record-orders',
    find: 'AND stock >= ?`, [count, voucherId, count]',
    replace: '`, [count, voucherId]',
  },
} as const satisfies Record<string, Mutant>;
export type MutantName = keyof typeof mutants;
export const mutantNames = Object.keys(mutants) as MutantName[];

export const isMutantName = (name: string): name is MutantName => Object.hasOwn(mutants, name);
