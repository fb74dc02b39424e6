/** Reads the sales of the final rung from both stores, in an order that sales do not disturb. */
import type { Redis } from 'ioredis';
import type { Connections } from '../../connections/connections.ts';
import { type Pool, type RowDataPacket, select } from '../../connections/mysql.ts';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import { scanHash } from '../../connections/scan-hash.ts';
import { BucketsNotReconciled } from '../../errors.ts';
import { rungNamed, rungNames } from '../../ladder/rungs.ts';
import { readOrder } from '../../queues/shared/order-fields.ts';
import { throwFirst } from '../../queues/shared/redis-queue.ts';
import type { Buyer, InStream, OrderInMysql, Sale } from './sale.ts';

const finalRung = 'lua-stream';
const pageSize = 1_000;

interface VoucherRow {
  readonly voucherId: string;
  readonly initialStock: number;
  readonly beginTime: Date;
  readonly endTime: Date;
}

/** @param voucherId only this one; every voucher of the final rung without it. */
export async function readSales(connections: Connections, voucherId?: string): Promise<Sale[]> {
  const vouchers = await vouchersOf(connections.mysql(), voucherId);
  const keysOf = ({ voucherId: id }: VoucherRow) => connections.saleKeys.of(id);
  const byShard = connections.saleKeys.shards.map((shard) =>
    readShard(
      connections,
      shard,
      vouchers.filter((each) => keysOf(each) === shard),
    ),
  );
  const sales = (await Promise.all(byShard)).flat();
  const byId = new Map(sales.map((sale) => [sale.voucherId, sale]));
  return vouchers.flatMap(({ voucherId: id }) => byId.get(id) ?? []);
}

/**
 * Their stock is in several places, so what is written here for one place would be wrong for them.
 * @throws BucketsNotReconciled when one of them is on sale, and no other voucher is named.
 */
export async function refuseBuckets(pool: Pool, voucherId?: string): Promise<void> {
  const names = rungNames.filter((name) => rungNamed(name).buckets);
  const [rows] = await pool.query<({ id: string } & RowDataPacket)[]>(
    `SELECT CAST(id AS CHAR) AS id FROM vouchers
     WHERE rung IN (?) AND ${voucherId === undefined ? 'end_time > ?' : 'id = ?'} ORDER BY id`,
    [names, voucherId ?? new Date()],
  );
  if (rows.length > 0) throw new BucketsNotReconciled(rows.map(({ id }) => id));
}

async function vouchersOf(pool: Pool, voucherId?: string): Promise<VoucherRow[]> {
  return select<VoucherRow>(
    pool,
    `SELECT CAST(v.id AS CHAR) AS voucherId, s.initial_stock AS initialStock,
            v.begin_time AS beginTime, v.end_time AS endTime
     FROM vouchers v JOIN seckill_stock s ON s.voucher_id = v.id
     WHERE v.rung = ? ${voucherId === undefined ? '' : 'AND v.id = ?'} ORDER BY v.id`,
    voucherId === undefined ? [finalRung] : [finalRung, voucherId],
  );
}

async function readShard(
  connections: Connections,
  shard: ShardKeys,
  vouchers: readonly VoucherRow[],
): Promise<Sale[]> {
  if (vouchers.length === 0) return [];
  const redis = connections.redis('admin');
  const notes = await scanHash(redis, shard.queued);
  const before = [];
  for (const voucher of vouchers)
    before.push({ voucher, buyers: await buyersOf(redis, shard, voucher.voucherId) });
  const entries = await streamOf(redis, shard);
  notes.push(...(await laterNotes(redis, shard, notes, entries)));
  const sales: Sale[] = [];
  for (const { voucher, buyers } of before) {
    const isOwn = ({ order }: InStream) => order.voucherId === voucher.voucherId;
    const noted = notes.filter(([, note]) => note.startsWith(`${voucher.voucherId}:`));
    const read = {
      voucher,
      buyers,
      inStream: entries.filter(isOwn),
      noted: new Set(noted.map(idOf)),
    };
    sales.push(await withMysql(connections, shard, read));
  }
  return sales;
}

const idOf = ([id]: readonly [string, string]): string => id;

async function buyersOf(
  redis: Redis,
  { buyers }: ShardKeys,
  voucherId: string,
): Promise<Map<string, Buyer>> {
  const found = await scanHash(redis, buyers(voucherId));
  return new Map(found.map(([userId, value]) => [userId, asBuyer(userId, value)]));
}

function asBuyer(userId: string, value: string): Buyer {
  const [id = '', ...rest] = value.split(':');
  return { id, userId, requestId: rest.join(':') };
}

/** Entries that are no orders are left to the workers, which dead-letter them. */
async function streamOf(redis: Redis, { orders }: ShardKeys): Promise<InStream[]> {
  const found: InStream[] = [];
  let from = '-';
  while (true) {
    const page = await redis.xrange(orders, from, '+', 'COUNT', pageSize);
    for (const [entryId, fields] of page) {
      const order = readOrder(fields);
      if (!('cause' in order)) found.push({ entryId, order });
    }
    const last = page.at(-1);
    if (!last || page.length < pageSize) return found;
    from = `(${last[0]}`;
  }
}

/** Of the orders that were sold after the notes were read. Before MySQL: see `Sale`. */
async function laterNotes(
  redis: Redis,
  { queued }: ShardKeys,
  notes: readonly [string, string][],
  entries: readonly InStream[],
): Promise<[string, string][]> {
  const known = new Set(notes.map(idOf));
  const ids = entries.map(({ order }) => order.id).filter((id) => !known.has(id));
  return [...(await askHash(redis, queued, ids))];
}

interface ReadInRedis {
  readonly voucher: VoucherRow;
  readonly buyers: ReadonlyMap<string, Buyer>;
  readonly inStream: readonly InStream[];
  readonly noted: ReadonlySet<string>;
}

async function withMysql(
  connections: Connections,
  shard: ShardKeys,
  { voucher, buyers, inStream, noted }: ReadInRedis,
): Promise<Sale> {
  const { voucherId, initialStock, beginTime, endTime } = voucher;
  const redis = connections.redis('admin');
  const stillNoted = await withoutSettled(redis, shard, noted, inStream);
  const { stock, orders } = await recordedOf(connections.mysql(), voucherId);
  const inMysql = new Map(orders.map((order) => [order.id, order]));
  const known = new Set([...inMysql.keys(), ...inStream.map(({ order }) => order.id)]);
  const suspects = [...[...buyers.values()].map(({ id }) => id), ...noted];
  const elsewhere = suspects.filter((id) => !known.has(id));
  for (const order of await underOtherVouchers(connections.mysql(), elsewhere))
    inMysql.set(order.id, order);
  const users = [...inMysql.values(), ...inStream.map(({ order }) => order)]
    .filter(({ id, userId }) => buyers.get(userId)?.id !== id)
    .map(({ userId }) => userId);
  const later = await askHash(redis, shard.buyers(voucherId), [...new Set(users)]);
  const laterBuyers = new Map([...later].map(([user, value]) => [user, asBuyer(user, value)]));
  const now = await momentOf(redis, shard, voucherId);
  return {
    ...{ voucherId, initialStock, beginMs: beginTime.getTime(), endMs: endTime.getTime() },
    ...{ buyers, laterBuyers, noted: stillNoted, inStream, inMysql, stockInMysql: stock },
    redis: now,
    isMoving: now.buyers !== buyers.size,
  };
}

/** The notes of orders that left the stream after the notes were read are gone by now. */
async function withoutSettled(
  redis: Redis,
  { queued }: ShardKeys,
  noted: ReadonlySet<string>,
  inStream: readonly InStream[],
): Promise<Set<string>> {
  const streamed = new Set(inStream.map(({ order }) => order.id));
  const left = [...noted].filter((id) => !streamed.has(id));
  const kept = await askHash(redis, queued, left);
  return new Set([...noted].filter((id) => streamed.has(id) || kept.has(id)));
}

/** One snapshot, so that stock and orders belong together while orders are being recorded. */
async function recordedOf(pool: Pool, voucherId: string) {
  const db = await pool.getConnection();
  try {
    await db.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await db.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    const [row] = await select<{ stock: number }>(
      db,
      'SELECT stock FROM seckill_stock WHERE voucher_id = ?',
      [voucherId],
    );
    const orders = await select<OrderInMysql>(db, `${selectOrders} WHERE voucher_id = ?`, [
      voucherId,
    ]);
    await db.rollback();
    db.release();
    return { stock: row?.stock ?? 0, orders };
  } catch (error) {
    db.destroy(); // Its snapshot may still be open: the next query on it would read the past.
    throw error;
  }
}

const selectOrders = `
  SELECT CAST(id AS CHAR) AS id, CAST(voucher_id AS CHAR) AS voucherId,
         CAST(user_id AS CHAR) AS userId, request_id AS requestId, status
  FROM orders`;

/** A failed row may have the id alone, when MySQL refused the other columns. */
async function underOtherVouchers(pool: Pool, ids: readonly string[]): Promise<OrderInMysql[]> {
  const found: OrderInMysql[] = [];
  for (let from = 0; from < ids.length; from += pageSize) {
    const [rows] = await pool.query<(OrderInMysql & RowDataPacket)[]>(
      `${selectOrders} WHERE status = 'failed' AND id IN (?)`,
      [ids.slice(from, from + pageSize)],
    );
    found.push(...rows);
  }
  return found;
}

/** Those of these fields that the hash has. */
async function askHash(
  redis: Redis,
  key: string,
  fields: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let from = 0; from < fields.length; from += pageSize) {
    const page = fields.slice(from, from + pageSize);
    const values = await redis.hmget(key, ...page);
    for (const [index, value] of values.entries())
      if (value !== null) found.set(page[index] ?? '', value);
  }
  return found;
}

/** In one step: each purchase changes both. */
async function momentOf(redis: Redis, { voucher, buyers }: ShardKeys, voucherId: string) {
  const moment = redis.multi().hget(voucher(voucherId), 'stock').hlen(buyers(voucherId));
  const [stock, count] = throwFirst(await moment.exec()) as [string | null, number];
  return { stock: stock === null ? null : Number(stock), buyers: count };
}
