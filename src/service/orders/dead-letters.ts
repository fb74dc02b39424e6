/**
 * Counts how often MySQL refused an order, and dead-letters one that can never be recorded: first
 * MySQL stores the order as failed, then one script returns the stock and removes the buyer, once.
 */
import type { Redis } from 'ioredis';
import type { Connections } from '../connections/connections.ts';
import { change, isDuplicateKey, isRowRefused, type Pool, select } from '../connections/mysql.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { isId, type Order, reopensAfterMs } from '../domain.ts';
import { declaredBuckets } from '../purchase/vouchers.ts';
import type { Poison } from '../queues/order-queue.ts';
import { throwFirst } from '../queues/shared/redis-queue.ts';

export type DeadLetterReason =
  | 'stock-short'
  | 'user-has-another-order'
  | 'id-belongs-to-another-order'
  | 'undeliverable'
  | 'malformed';

/** Why an order is dead-lettered, at which of its deliveries. */
export interface Death {
  readonly reason: DeadLetterReason;
  readonly deliveries: number;
}

const giveBack = loadScript('sale/give-back');
const reopens = String(reopensAfterMs);

/**
 * Inserts the order's failed row, a tombstone: a paused worker that resumes later finds the id
 * taken. Only if MySQL has that row, the purchase is undone in Redis. Safe to repeat after a crash
 * at any point.
 */
export async function deadLetter(
  connections: Connections,
  order: Order,
  { reason, deliveries }: Death,
): Promise<void> {
  const pool = connections.mysql();
  if (reason !== 'id-belongs-to-another-order') {
    const isFailed = await insertTombstone(pool, order, reason);
    if (!isFailed) return;
  }
  const letter = [order.requestId, String(deliveries)];
  await undoPurchase(connections, order, reason, letter);
}

/**
 * For an entry that is not an order: its user and voucher are those that were noted when the order
 * was accepted. The purchase is undone only if the buyers' hash has this order for this user. The
 * queue moves the entry to the dead letters itself.
 */
export async function deadLetterPoison(
  connections: Connections,
  { orderId: id, noted }: Poison,
): Promise<void> {
  if (id === undefined || !noted) return; // Nothing shows that stock was taken for it.
  const { voucherId, userId } = noted;
  if (!isId(voucherId)) return;
  // Under another id, MySQL can never have this order: it needs no tombstone.
  if (isId(id)) {
    const order = { id, voucherId, userId: isId(userId) ? userId : nobody, requestId: '' };
    if (!(await insertTombstone(connections.mysql(), order, 'malformed'))) return;
  }
  await undoPurchase(connections, { id, voucherId, userId }, '');
}

/** For an order whose failed row MySQL has, when nobody gave it back after that. */
export async function giveBackFailed(connections: Connections, order: Order): Promise<void> {
  const [row] = await select<{ reason: DeadLetterReason | null }>(
    connections.mysql(),
    "SELECT reason FROM orders WHERE id = ? AND status = 'failed'",
    [order.id],
  );
  if (row) await undoPurchase(connections, order, row.reason ?? '');
}

/**
 * Returns the stock and removes the buyer in Redis, once: in the place that has this buyer, the
 * shard of the voucher or the bucket of the user.
 * @param reason of the dead letter that the script adds; '' when it adds none
 * @param letter what the letter also has: the request id and the number of deliveries
 */
async function undoPurchase(
  connections: Connections,
  order: Omit<Order, 'requestId'>,
  reason: DeadLetterReason | '',
  letter: readonly string[] = [],
): Promise<void> {
  const { saleKeys } = connections;
  const [pool, redis] = [connections.mysql(), connections.redis('admin')];
  const { id, voucherId, userId } = order;
  // It stays this user's purchase.
  const buyer = reason === 'user-has-another-order' ? await otherOrder(pool, order) : '';
  // `stock-short`: MySQL has no stock left, so Redis had too much. Another order of the user: Redis
  // had lost it with its unit, and the unit of this order now stands for it.
  const stock = reason === 'stock-short' || buyer !== '' ? '0' : '1';
  const args = [id, voucherId, userId, reason, stock, buyer, reopens, ...letter];
  const bucket = saleKeys.bucketOf(voucherId, userId, await declaredBuckets(pool, voucherId));
  for (const { voucher, buyers, dead } of [saleKeys.of(voucherId), bucket])
    await runScript(redis, giveBack, [voucher(voucherId), buyers(voucherId), dead], args);
}

/** No voucher and no user has this id. */
const nobody = '0';

/**
 * MySQL may refuse a column of the order, and then it refuses it here too: the id alone is enough.
 * The user is kept for as long as possible, because only the user of an order is told its state.
 * @returns false when another worker has recorded the order.
 */
export async function insertTombstone(pool: Pool, order: Order, reason: string): Promise<boolean> {
  const withoutRequest = { ...order, requestId: '' };
  const withoutVoucher = { ...withoutRequest, voucherId: nobody };
  const idAlone = { ...withoutVoucher, userId: nobody };
  await insertFirst(pool, [order, withoutRequest, withoutVoucher, idAlone], reason);
  const [row] = await select<{ status: string }>(pool, 'SELECT status FROM orders WHERE id = ?', [
    order.id,
  ]);
  return row?.status === 'failed';
}

/** The first of these rows that MySQL does not refuse. @throws its error when it refuses all. */
async function insertFirst(pool: Pool, rows: readonly Order[], reason: string): Promise<void> {
  for (const [index, row] of rows.entries()) {
    try {
      return await insertFailed(pool, row, reason);
    } catch (error) {
      if (!isRowRefused(error) || index === rows.length - 1) throw error;
    }
  }
}

async function insertFailed(pool: Pool, order: Order, reason: string): Promise<void> {
  const { id, voucherId, userId, requestId } = order;
  await change(
    pool,
    'INSERT INTO orders (id, voucher_id, user_id, request_id, status, reason) ' +
      "VALUES (?, ?, ?, ?, 'failed', ?)",
    [id, voucherId, userId, requestId, reason],
  ).catch((error: unknown) => {
    if (!isDuplicateKey(error)) throw error;
  });
}

/** The user's confirmed order, as the buyers' hash stores it: `id:request`; '' when none is. */
export async function otherOrder(
  pool: Pool,
  { voucherId, userId }: Pick<Order, 'voucherId' | 'userId'>,
): Promise<string> {
  const [row] = await select<{ buyer: string }>(
    pool,
    "SELECT CONCAT(id, ':', request_id) AS buyer FROM orders " +
      "WHERE voucher_id = ? AND user_id = ? AND status = 'confirmed'",
    [voucherId, userId],
  );
  return row?.buyer ?? '';
}

/** Since the last refusal: a count that nobody removed does not stay for ever. */
const keptSeconds = 86_400;

/**
 * How often MySQL refused the row of each order. All workers count together, in Redis: whichever
 * of them gets the next delivery, or starts again, goes on counting. The deliveries that a queue
 * counts would not do: an outage makes many, and then the first refusal after it would be the
 * last.
 */
export function refusalCounts(redis: Redis, saleKeys: SaleKeys) {
  const keyOf = ({ voucherId }: Order): string => saleKeys.of(voucherId).refusals;
  return {
    /** @returns how many there are now. */
    async add(order: Order): Promise<number> {
      const key = keyOf(order);
      const counting = redis.multi().hincrby(key, order.id, 1);
      const [count] = throwFirst(await counting.expire(key, keptSeconds).exec());
      return Number(count);
    },
    /**
     * For orders that are settled. Nearly always there is no count at all: then it is one question
     * for each shard.
     */
    async forget(orders: readonly Order[]): Promise<void> {
      const forgetIn = async ([key, own]: [string, Order[]]) => {
        if ((await redis.exists(key)) === 1) await redis.hdel(key, ...own.map(({ id }) => id));
      };
      await Promise.all([...Map.groupBy(orders, keyOf)].map(forgetIn));
    },
  };
}
