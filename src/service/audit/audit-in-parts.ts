/**
 * The audit of a voucher whose facts are read in parts, for a sale whose orders do not fit in
 * memory. Each part has all orders of some users, and is a sale of its own that is sold out: so
 * every check of one user's orders is right about it. The last part has the numbers of the whole
 * sale, and no users.
 */

import type { Redis } from 'ioredis';
import type { Connections } from '../connections/connections.ts';
import { type PoolConnection, type RowDataPacket, select, snapshot } from '../connections/mysql.ts';
import { pairsOf } from '../connections/pairs.ts';
import { hashParts, readFields } from '../connections/read-sale.ts';
import type { Verdict } from '../domain.ts';
import { audit, auditInEnglish, worstOf } from './audit.ts';
import type { Finding } from './check.ts';
import {
  counts,
  isChanging,
  isRemovedSale,
  numbersOf,
  orderOfBuyer,
  placesOf,
  queuedIn,
  type SalePlace,
  salePlaceOf,
  selectOrders,
  stockInRedis,
  voucherFacts,
} from './collect.ts';
import { type Facts, type OrderRow, usersWithSeveralOrders } from './facts.ts';

/** Which case is the worst is not known: each part has its own. */
type PartFinding = Pick<Finding, 'check' | 'verdict' | 'count' | 'first'>;
type InEnglish = ReturnType<typeof auditInEnglish>;

/** What the service answers: its sentences are in English. */
export interface VoucherAudit {
  readonly verdict: Verdict;
  readonly initialStock: number;
  readonly stock: number;
  readonly orders: number;
  readonly usersWithTwoOrders: number;
  readonly findings: InEnglish['findings'];
  /** The checks that were not made, and why. */
  readonly skipped: InEnglish['skipped'];
}

/** From MySQL and Redis alone. Null when there is no such voucher. */
export async function auditInParts(
  connections: Connections,
  voucherId: string,
): Promise<VoucherAudit | null> {
  let findings: readonly PartFinding[] = [];
  let usersWithTwoOrders = 0;
  let whole: Facts | undefined;
  await collectInParts(connections, voucherId, (part) => {
    findings = merge(findings, audit(part).findings);
    usersWithTwoOrders += usersWithSeveralOrders(part);
    whole = part;
  });
  if (!whole) return null;
  const { initialStock, mysql } = whole;
  const numbers = { initialStock, stock: mysql.stock, orders: mysql.sold ?? 0 };
  const verdict = worstOf(findings.map((each) => each.verdict));
  const { skipped } = audit(whole);
  const inEnglish = auditInEnglish({ findings, skipped });
  return { verdict, ...numbers, usersWithTwoOrders, ...inEnglish };
}

/** Every part has the same checks. */
const merge = (earlier: readonly PartFinding[], later: readonly Finding[]): PartFinding[] =>
  later.map(({ check, verdict, count, first }) => {
    const finding = { check, verdict, count, ...(first !== undefined && { first }) };
    const known = earlier.find((each) => each.check === check);
    return known ? mergeFindings(known, finding) : finding;
  });

/** What one part cannot decide, the whole cannot: orders are on their way. */
function mergeFindings(one: PartFinding, other: PartFinding): PartFinding {
  const unknown = [other, one].find(({ verdict }) => verdict === 'unknown');
  if (unknown) return unknown;
  const [first, second] = one.count > 0 ? [one, other] : [other, one];
  return { ...first, count: first.count + second.count };
}

/** Few questions to MySQL, and little memory. */
const usersOfPart = 5_000;
const unitsOfPage = 100_000;

interface Reading {
  readonly redis: Redis;
  readonly db: PoolConnection;
  readonly place: SalePlace;
  /** What all parts have. */
  readonly voucher: Omit<Facts, 'mysql' | 'redis'>;
  /** Not given where Redis has nothing of the sale. */
  readonly queued: readonly string[] | undefined;
  /** The rung has a row per unit. */
  readonly hasUnits: boolean;
  readonly onPart: (facts: Facts) => void;
}

/** @returns false when there is no such voucher. */
export async function collectInParts(
  connections: Connections,
  voucherId: string,
  onPart: (facts: Facts) => void,
): Promise<boolean> {
  const redis = connections.redis('admin');
  const place = await salePlaceOf(connections, voucherId);
  if (place === null) return false;
  // Before MySQL: an order that leaves its queue in the meantime is in the snapshot, or it moves
  // the counts.
  const before = await counts(redis, place);
  const queued = await queuedIn(redis, place);
  const stock = await stockInRedis(redis, place);
  return snapshot(connections.mysql(), async (db) => {
    const numbers = await numbersOf(db, voucherId);
    if (!numbers) return false;
    const buyers = await buyersIn(redis, place);
    const isRemoved = isRemovedSale(numbers, { stock, buyers, queued });
    const { queue } = place.rung;
    const voucher = voucherFacts(voucherId, numbers);
    const hasRedis = !isRemoved && (queue !== undefined || stock !== null);
    const units = await unitsOfSale(db, voucherId);
    const reading = {
      redis,
      db,
      place,
      voucher,
      onPart,
      hasUnits: units !== null,
      queued: hasRedis ? queued : undefined,
    };
    const { orders, found } = await readUsers(reading);
    if (queue && found !== buyers) await readOtherBuyers(reading);
    const isMoving = before !== (await counts(redis, place)) || isChanging(numbers);
    onPart({
      ...voucher,
      mysql: { stock: numbers.stock, sold: orders, orders: [], ...units },
      ...(hasRedis && { redis: { stock, queued, isMoving, ...(queue && { buyers: {} }) } }),
    });
    return true;
  });
}

/** @returns how many orders are confirmed, and how many of the users are buyers in Redis. */
async function readUsers(reading: Reading): Promise<{ orders: number; found: number }> {
  const total = { orders: 0, found: 0 };
  let after = '-1';
  for (;;) {
    const last = await lastUserOfPart(reading, after);
    const orders = await ordersOf(reading, after, last);
    const buyers = await buyersAmong(reading, [...new Set(orders.map(({ userId }) => userId))]);
    const part = await partOf(reading, orders, buyers);
    reading.onPart(part);
    total.orders += part.initialStock;
    total.found += Object.keys(buyers).length;
    if (last === undefined) return total;
    after = last;
  }
}

/** Undefined when fewer users are left than a part has. */
async function lastUserOfPart({ db, place }: Reading, after: string): Promise<string | undefined> {
  const [row] = await select<{ userId: string }>(
    db,
    `SELECT CAST(user_id AS CHAR) AS userId FROM orders
     WHERE voucher_id = ? AND user_id > ? ORDER BY user_id LIMIT 1 OFFSET ${usersOfPart - 1}`,
    [place.voucherId, after],
  );
  return row?.userId;
}

const ordersOf = ({ db, place }: Reading, after: string, last?: string): Promise<OrderRow[]> =>
  select<OrderRow>(
    db,
    `${selectOrders} WHERE voucher_id = ? AND user_id > ? AND user_id <= ? ORDER BY user_id, id`,
    [place.voucherId, after, last ?? '9223372036854775807'],
  );

async function buyersAmong({ redis, place }: Reading, users: readonly string[]) {
  const buyers: Record<string, string> = {};
  if (users.length === 0 || !place.rung.queue) return buyers;
  for (const { buyers: key } of placesOf(place))
    for (const [user, value] of await readFields(redis, key(place.voucherId), users))
      buyers[user] = orderOfBuyer(value);
  return buyers;
}

/** How many Redis has. */
async function buyersIn(redis: Redis, place: SalePlace): Promise<number> {
  const keys = placesOf(place).map(({ buyers }) => buyers(place.voucherId));
  const lengths = await Promise.all(keys.map((key) => redis.hlen(key)));
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** Buyers without any order in MySQL. */
async function readOtherBuyers(reading: Reading): Promise<void> {
  const { redis, place } = reading;
  const told = new Set<string>(); // A scan may return a buyer twice.
  for (const { buyers: key } of placesOf(place))
    for await (const words of hashParts(redis, key(place.voucherId))) {
      const buyers = pairsOf(words).map(([user, value]) => [user, orderOfBuyer(value)] as const);
      const others = await withoutOrders(reading, new Map(buyers));
      for (const user of told) others.delete(user);
      if (others.size > 0) reading.onPart(await partOf(reading, [], Object.fromEntries(others)));
      for (const user of others.keys()) told.add(user);
    }
}

/** @param buyers user → order id */
async function withoutOrders(
  { db, place }: Reading,
  buyers: Map<string, string>,
): Promise<Map<string, string>> {
  if (buyers.size === 0) return buyers;
  const [rows] = await db.query<(RowDataPacket & { userId: string })[]>(
    `SELECT DISTINCT CAST(user_id AS CHAR) AS userId FROM orders
     WHERE voucher_id = ? AND user_id IN (?)`,
    [place.voucherId, [...buyers.keys()]],
  );
  const known = new Set(rows.map(({ userId }) => userId));
  return new Map([...buyers].filter(([user]) => !known.has(user)));
}

/** A sale of these orders alone. */
async function partOf(
  { voucher, queued, place, db, hasUnits }: Reading,
  orders: readonly OrderRow[],
  buyers: Readonly<Record<string, string>>,
): Promise<Facts> {
  const sold = orders.filter(({ status }) => status === 'confirmed').map(({ id }) => id);
  const units = hasUnits && { unitOrders: await ordersWithUnit(db, place.voucherId, sold) };
  return {
    ...voucher,
    initialStock: sold.length,
    mysql: { stock: 0, orders, ...units },
    ...(queued && { redis: { stock: 0, queued, ...(place.rung.queue && { buyers }) } }),
  };
}

/** Those of these orders that have a unit. */
async function ordersWithUnit(
  db: PoolConnection,
  voucherId: string,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const [rows] = await db.query<(RowDataPacket & { id: string })[]>(
    `SELECT CAST(order_id AS CHAR) AS id FROM voucher_units
     WHERE voucher_id = ? AND order_id IN (?)`,
    [voucherId, ids],
  );
  return rows.map(({ id }) => id);
}

/**
 * The units that are for sale, and those that are sold to no confirmed order. Null where the rung
 * has no row per unit.
 */
async function unitsOfSale(
  db: PoolConnection,
  voucherId: string,
): Promise<Pick<Facts['mysql'], 'stock' | 'unitOrders'> | null> {
  const [count] = await select<{ units: number; sold: number }>(
    db,
    'SELECT COUNT(*) AS units, COUNT(order_id) AS sold FROM voucher_units WHERE voucher_id = ?',
    [voucherId],
  );
  if (!count || Number(count.units) === 0) return null;
  const lost = await unitsWithoutOrder(db, voucherId, Number(count.units));
  return {
    stock: Number(count.units) - Number(count.sold),
    unitOrders: lost,
  };
}

/** In pages: a statement that is silent for too long loses its connection. */
async function unitsWithoutOrder(
  db: PoolConnection,
  voucherId: string,
  units: number,
): Promise<string[]> {
  const lost: string[] = [];
  for (let from = 0; from < units; from += unitsOfPage) {
    const rows = await select<{ id: string }>(
      db,
      `SELECT CAST(u.order_id AS CHAR) AS id
       FROM voucher_units u LEFT JOIN orders o
         ON o.id = u.order_id AND o.voucher_id = u.voucher_id AND o.status = 'confirmed'
       WHERE u.voucher_id = ? AND u.unit > ? AND u.unit <= ?
         AND u.order_id IS NOT NULL AND o.id IS NULL`,
      [voucherId, from, from + unitsOfPage],
    );
    lost.push(...rows.map(({ id }) => id));
  }
  return lost;
}
