/** Reads the sales of the final rung from both stores, in an order that sales do not disturb. */
import type { Redis } from 'ioredis';
import type { Connections } from '../../connections/connections.ts';
import { type Pool, type RowDataPacket, select, snapshot } from '../../connections/mysql.ts';
import { readFields, readSale, scanHash } from '../../connections/read-sale.ts';
import { type BucketCount, type ShardKeys, stockPlaces } from '../../connections/sale-keys.ts';
import type { Order } from '../../domain.ts';
import { sumOfBuckets } from '../../inventory/shared/bucket-stock.ts';
import { finalRungs, rungNamed } from '../../ladder/rungs.ts';
import { ordersOfEntry } from '../../queues/shared/order-fields.ts';
import {
  type Buyer,
  type InStream,
  isRemoved,
  type OrderInMysql,
  type Sale,
  type SalePart,
  type SaleTerms,
  type Terms,
} from './differences.ts';

const pageSize = 1_000;

interface VoucherRow {
  readonly voucherId: string;
  readonly rung: string;
  readonly buckets: BucketCount;
  readonly initialStock: number;
  readonly beginTime: Date;
  readonly endTime: Date;
  /** The three are null when it was never changed. */
  readonly changeNumber: number | null;
  readonly changeBegunAt: Date | null;
  readonly paused: number | null;
}

const termsOf = (voucher: VoucherRow): Terms => ({
  change: voucher.changeNumber ?? 0,
  changeBegunMs: String(voucher.changeBegunAt?.getTime() ?? ''),
  beginMs: voucher.beginTime.getTime(),
  endMs: voucher.endTime.getTime(),
  paused: voucher.paused === 1,
});

export interface ReadSales<Kept> {
  /** In the order of their vouchers. */
  readonly sales: readonly Kept[];
  /** How many sales are over, and have no keys in Redis: their orders are not read. */
  readonly removed: number;
}

export interface SaleReader<Part, Kept> {
  /** Called before the next part is read, so that this one need not stay in memory. */
  readonly part: (part: SalePart, sale: SaleTerms) => Part | Promise<Part>;
  readonly whole: (sale: Sale, parts: readonly Part[]) => Kept | Promise<Kept>;
}

/** The most orders in memory at the same time. */
const ordersMax = 100_000;

/**
 * @param voucherId only this one; every voucher of the final rung without it.
 * @param most orders at the same time.
 */
export async function readSales<Part, Kept>(
  connections: Connections,
  reader: SaleReader<Part, Kept>,
  voucherId?: string,
  most: number = ordersMax,
): Promise<ReadSales<Kept>> {
  const vouchers = await vouchersOf(connections.mysql(), voucherId);
  const places = ({ voucherId: id, rung, buckets }: VoucherRow) =>
    stockPlaces(connections.saleKeys, id, rungNamed(rung), buckets);
  const read = { connections, reader, most };
  const isSplit = ({ rung }: VoucherRow) => rungNamed(rung).buckets === true;
  const kept = new Map<string, Kept>();
  for (const shard of connections.saleKeys.shards) {
    const own = vouchers.filter((each) => !isSplit(each) && places(each)[0] === shard);
    for (const [id, each] of await readPlaces(read, [shard], own)) kept.set(id, each);
  }
  for (const voucher of vouchers.filter(isSplit))
    for (const [id, each] of await readPlaces(read, places(voucher), [voucher])) kept.set(id, each);
  const found = vouchers.filter(({ voucherId: id }) => kept.has(id));
  const sales = found.map(({ voucherId: id }) => kept.get(id) as Kept);
  return { sales, removed: vouchers.length - found.length };
}

async function vouchersOf(pool: Pool, voucherId?: string): Promise<VoucherRow[]> {
  const [rows] = await pool.query<(VoucherRow & RowDataPacket)[]>(
    `SELECT CAST(v.id AS CHAR) AS voucherId, v.rung, b.buckets, s.initial_stock AS initialStock,
            v.begin_time AS beginTime, v.end_time AS endTime,
            st.change_number AS changeNumber, c.begun_at AS changeBegunAt, st.paused
     FROM vouchers v JOIN seckill_stock s ON s.voucher_id = v.id
     LEFT JOIN voucher_buckets b ON b.voucher_id = v.id
     LEFT JOIN voucher_states st ON st.voucher_id = v.id
     LEFT JOIN voucher_changes c ON c.voucher_id = v.id AND c.number = st.change_number
     WHERE v.rung IN (?) ${voucherId === undefined ? '' : 'AND v.id = ?'} ORDER BY v.id`,
    voucherId === undefined ? [finalRungs] : [finalRungs, voucherId],
  );
  return rows;
}

interface Read<Part, Kept> {
  readonly connections: Connections;
  readonly reader: SaleReader<Part, Kept>;
  readonly most: number;
}

/**
 * Vouchers that are in one shard together, or one voucher in its buckets.
 * @returns what is kept, by voucher; nothing of a sale that was removed.
 */
async function readPlaces<Part, Kept>(
  { connections, reader, most }: Read<Part, Kept>,
  places: readonly ShardKeys[],
  all: readonly VoucherRow[],
): Promise<Map<string, Kept>> {
  const redis = connections.redis('admin');
  const vouchers = await withoutRemoved(redis, places, all);
  const parts = Math.ceil((await countOrders(connections, places, vouchers, most)) / most) || 1;
  const counts = vouchers.map(
    (voucher): SaleCount<Part> => ({ voucher, buyers: 0, streamed: 0, parts: [] }),
  );
  for (let number = 0; vouchers.length > 0 && number < parts; number++) {
    const place = { connections, places, users: { number, parts } };
    for await (const [part, counted] of readParts(place, counts)) {
      counted.buyers += part.buyers.size;
      counted.streamed += part.inStream.length;
      counted.parts.push(await reader.part(part, saleTerms(places, counted.voucher)));
    }
  }
  const kept = new Map<string, Kept>();
  for (const counted of counts) {
    const sale = await wholeSale(connections, places, counted);
    if (!isRemoved(sale)) kept.set(sale.voucherId, await reader.whole(sale, counted.parts));
  }
  return kept;
}

/** The initial stock when it is not more than `most`: few orders need no other count. */
async function countOrders(
  connections: Connections,
  places: readonly ShardKeys[],
  vouchers: readonly VoucherRow[],
  most: number,
): Promise<number> {
  const stock = vouchers.reduce((sum, { initialStock }) => sum + initialStock, 0);
  if (stock <= most) return stock;
  let orders = 0;
  for (const voucher of vouchers) {
    const { buyers } = await momentOfSale(connections.redis('admin'), places, voucher);
    const [row] = await select<{ count: number }>(
      connections.mysql(),
      'SELECT COUNT(*) AS count FROM orders WHERE voucher_id = ?',
      [voucher.voucherId],
    );
    orders += Math.max(buyers, Number(row?.count));
  }
  return orders;
}

interface SaleCount<Part> {
  readonly voucher: VoucherRow;
  buyers: number;
  streamed: number;
  readonly parts: Part[];
}

/** Those of `parts` parts whose number is left when their id is divided by it. */
interface Users {
  readonly number: number;
  readonly parts: number;
}

function isAmong({ number, parts }: Users, userId: string): boolean {
  if (parts === 1) return true;
  const isId = /^\d+$/.test(userId);
  return isId ? Number(BigInt(userId) % BigInt(parts)) === number : number === 0;
}

interface PartPlace {
  readonly connections: Connections;
  readonly places: readonly ShardKeys[];
  readonly users: Users;
}

/** The same part of each sale, with its count. */
async function* readParts<Count extends { readonly voucher: VoucherRow }>(
  place: PartPlace,
  counts: readonly Count[],
): AsyncGenerator<[SalePart, Count]> {
  const { connections, places, users } = place;
  const redis = connections.redis('admin');
  const queues = [...new Set(places.map(({ queued }) => queued))];
  const isNoted = (_: string, note: string) => isAmong(users, note.slice(note.indexOf(':') + 1));
  const early = (await Promise.all(queues.map((key) => scanHash(redis, key, isNoted)))).flat();
  const before = [];
  for (const count of counts) {
    const { voucherId } = count.voucher;
    before.push({ count, voucherId, buyers: await buyersOf(redis, places, voucherId, users) });
  }
  const streams = [...new Set(places.map(({ orders }) => orders))];
  const read = streams.map((orders) =>
    streamOf(redis, orders, ({ userId }) => isAmong(users, userId)),
  );
  const entries = (await Promise.all(read)).flat();
  const notes = early.concat(await laterNotes(redis, queues, early, entries));
  for (const { count, voucherId, buyers } of before) {
    const inStream = entries.filter(({ order }) => order.voucherId === voucherId);
    const noted = notes.filter(([, note]) => note.startsWith(`${voucherId}:`));
    const inRedis = { voucherId, buyers, inStream, noted: new Set(noted.map(idOf)) };
    yield [await withMysql(place, inRedis), count];
  }
}

const saleTerms = (places: readonly ShardKeys[], voucher: VoucherRow): SaleTerms => ({
  voucherId: voucher.voucherId,
  initialStock: voucher.initialStock,
  terms: termsOf(voucher),
  ...(rungNamed(voucher.rung).buckets && { buckets: places.length }),
});

async function wholeSale(
  connections: Connections,
  places: readonly ShardKeys[],
  { voucher, buyers, streamed }: SaleCount<unknown>,
): Promise<Sale> {
  const recorded = await recordedOf(connections.mysql(), voucher.voucherId);
  const now = await momentOfSale(connections.redis('admin'), places, voucher);
  return {
    ...saleTerms(places, voucher),
    ...recorded,
    streamed,
    redis: now,
    isMoving: now.buyers !== buyers,
  };
}

/** Their orders are not read: MySQL may have those of years, and Redis those of a few days. */
async function withoutRemoved(
  redis: Redis,
  places: readonly ShardKeys[],
  vouchers: readonly VoucherRow[],
): Promise<VoucherRow[]> {
  const left: VoucherRow[] = [];
  const gone: VoucherRow[] = [];
  for (const voucher of vouchers) {
    const terms = termsOf(voucher);
    const isGone =
      Date.now() > terms.endMs &&
      isRemoved({ redis: await momentOfSale(redis, places, voucher), terms, streamed: 0 });
    (isGone ? gone : left).push(voucher);
  }
  if (gone.length === 0) return left;
  const streamed = new Set<string>();
  for (const { orders } of places)
    await streamOf(redis, orders, ({ voucherId }) => {
      streamed.add(voucherId);
      return false;
    });
  return [...left, ...gone.filter(({ voucherId }) => streamed.has(voucherId))];
}

async function momentOfSale(
  redis: Redis,
  places: readonly ShardKeys[],
  { voucherId, rung }: VoucherRow,
): Promise<Moment> {
  if (rungNamed(rung).buckets) return momentOfBuckets(redis, places, voucherId);
  const { stock, buyers, terms } = await momentOf(redis, places[0] as ShardKeys, voucherId);
  return { stock: stock === null ? null : Number(stock), buyers, terms };
}

const idOf = ([id]: readonly [string, string]): string => id;

async function buyersOf(
  redis: Redis,
  places: readonly ShardKeys[],
  voucherId: string,
  users: Users,
): Promise<Map<string, Buyer>> {
  const isKept = (userId: string) => isAmong(users, userId);
  const scans = places.map(({ buyers }) => scanHash(redis, buyers(voucherId), isKept));
  const found = await Promise.all(scans);
  return new Map(found.flat().map(([userId, value]) => [userId, asBuyer(userId, value)]));
}

function asBuyer(userId: string, value: string): Buyer {
  const [id = '', ...rest] = value.split(':');
  return { id, userId, requestId: rest.join(':') };
}

/** Entries that are no orders are left to the workers, which dead-letter them. */
async function streamOf(
  redis: Redis,
  orders: string,
  isKept: (order: Order) => boolean,
): Promise<InStream[]> {
  const found: InStream[] = [];
  let from = '-';
  while (true) {
    const page = await redis.xrange(orders, from, '+', 'COUNT', pageSize);
    for (const [entryId, fields] of page)
      for (const order of ordersOfEntry(fields)) if (isKept(order)) found.push({ entryId, order });
    const last = page.at(-1);
    if (!last || page.length < pageSize) return found;
    from = `(${last[0]}`;
  }
}

/** Of the orders that were sold after the notes were read. Before MySQL: see `Sale`. */
async function laterNotes(
  redis: Redis,
  queues: readonly string[],
  notes: readonly [string, string][],
  entries: readonly InStream[],
): Promise<[string, string][]> {
  const known = new Set(notes.map(idOf));
  const ids = entries.map(({ order }) => order.id).filter((id) => !known.has(id));
  return [...(await askHashes(redis, queues, ids))];
}

type PartInRedis = Pick<SalePart, 'voucherId' | 'buyers' | 'inStream' | 'noted'>;

async function withMysql(
  { connections, places, users }: PartPlace,
  { voucherId, buyers, inStream, noted }: PartInRedis,
): Promise<SalePart> {
  const redis = connections.redis('admin');
  const stillNoted = await withoutSettled(redis, places, noted, inStream);
  const orders = await ordersOf(connections.mysql(), voucherId, users);
  const inMysql = new Map(orders.map((order) => [order.id, order]));
  const known = new Set([...inMysql.keys(), ...inStream.map(({ order }) => order.id)]);
  const suspects = [...[...buyers.values()].map(({ id }) => id), ...noted];
  const elsewhere = suspects.filter((id) => !known.has(id));
  for (const order of await ordersNamed(connections.mysql(), elsewhere))
    inMysql.set(order.id, order);
  const askAgain = [...inMysql.values(), ...inStream.map(({ order }) => order)]
    .filter(({ id, userId }) => buyers.get(userId)?.id !== id)
    .map(({ userId }) => userId);
  const buyersKeys = places.map((each) => each.buyers(voucherId));
  const later = await askHashes(redis, buyersKeys, [...new Set(askAgain)]);
  const laterBuyers = new Map([...later].map(([user, value]) => [user, asBuyer(user, value)]));
  return { voucherId, buyers, laterBuyers, noted: stillNoted, inStream, inMysql };
}

/** The notes of orders that left the stream after the notes were read are gone by now. */
async function withoutSettled(
  redis: Redis,
  places: readonly ShardKeys[],
  noted: ReadonlySet<string>,
  inStream: readonly InStream[],
): Promise<Set<string>> {
  const streamed = new Set(inStream.map(({ order }) => order.id));
  const left = [...noted].filter((id) => !streamed.has(id));
  const queues = [...new Set(places.map(({ queued }) => queued))];
  const kept = await askHashes(redis, queues, left);
  return new Set([...noted].filter((id) => streamed.has(id) || kept.has(id)));
}

const ordersOf = (pool: Pool, voucherId: string, { number, parts }: Users) =>
  select<OrderInMysql>(
    pool,
    `${selectOrders} WHERE voucher_id = ? AND MOD(user_id, CAST(? AS SIGNED)) = ?`,
    [voucherId, parts, number],
  );

const recordedOf = (pool: Pool, voucherId: string) =>
  snapshot(pool, async (db) => {
    const [stock] = await select<{ stockInMysql: number }>(
      db,
      'SELECT stock AS stockInMysql FROM seckill_stock WHERE voucher_id = ?',
      [voucherId],
    );
    const [orders] = await select<{ recorded: number }>(
      db,
      "SELECT COUNT(*) AS recorded FROM orders WHERE voucher_id = ? AND status = 'confirmed'",
      [voucherId],
    );
    return { stockInMysql: stock?.stockInMysql ?? 0, recorded: Number(orders?.recorded) };
  });

const selectOrders = `
  SELECT CAST(id AS CHAR) AS id, CAST(voucher_id AS CHAR) AS voucherId,
         CAST(user_id AS CHAR) AS userId, request_id AS requestId, status
  FROM orders`;

/** A failed row may have no voucher, when MySQL refused this column; and a row may be wrong. */
async function ordersNamed(pool: Pool, ids: readonly string[]): Promise<OrderInMysql[]> {
  const found: OrderInMysql[] = [];
  for (let from = 0; from < ids.length; from += pageSize) {
    const [rows] = await pool.query<(OrderInMysql & RowDataPacket)[]>(
      `${selectOrders} WHERE id IN (?)`,
      [ids.slice(from, from + pageSize)],
    );
    found.push(...rows);
  }
  return found;
}

/** Those of these fields that one of the hashes has. */
async function askHashes(
  redis: Redis,
  keys: readonly string[],
  fields: readonly string[],
): Promise<Map<string, string>> {
  const found = await Promise.all(keys.map((key) => readFields(redis, key, fields)));
  return new Map(found.flatMap((each) => [...each]));
}

type Fields = Readonly<Record<string, string>>;

/** In one step: each purchase changes the stock and the buyers. */
async function momentOf(redis: Redis, place: ShardKeys, voucherId: string) {
  const { sale, buyers, transfers } = await readSale(redis, place, voucherId);
  const stock = sale['stock'] ?? null;
  return { stock, buyers, transfers, terms: stock === null ? [] : [termsInRedis(sale)] };
}

const termsInRedis = (sale: Fields): Terms => ({
  change: Number(sale['change'] ?? 0),
  changeBegunMs: sale['changeBegunMs'] ?? '',
  beginMs: Number(sale['beginMs'] ?? Number.NaN),
  endMs: Number(sale['endMs'] ?? Number.NaN),
  paused: sale['paused'] === '1',
});

type Moment = Sale['redis'];

/** So often the buckets are read again, because a transfer came between two of them. */
const momentsMax = 5;

/**
 * The sum of all buckets. Each is read in one step; when no transfer came between two readings of
 * all of them, nothing was counted twice or not at all.
 */
async function momentOfBuckets(
  redis: Redis,
  places: readonly ShardKeys[],
  voucherId: string,
): Promise<Moment> {
  let before = '';
  for (let times = 1; ; times++) {
    const read = places.map((place) => momentOf(redis, place, voucherId));
    const buckets = await Promise.all(read);
    const moves = JSON.stringify(buckets.map(({ transfers }) => transfers['moves']));
    const buyers = buckets.reduce((sum, each) => sum + each.buyers, 0);
    const terms = buckets.flatMap((each) => each.terms);
    if (moves === before || times === momentsMax)
      return { stock: sumOfBuckets(buckets).stock, buyers, terms };
    before = moves;
  }
}
