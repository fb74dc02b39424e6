/**
 * Vouchers in MySQL. Each instance keeps them in memory, and Redis has a copy for instances that
 * start while MySQL is away. Operators may change a voucher of the final rung: it is sold by what
 * Redis has of it, so its purchases do not depend on these copies (see voucher-changes.ts).
 */
import { LRUCache } from 'lru-cache';
import type { ResultSetHeader } from 'mysql2';
import type { Connections } from '../connections/connections.ts';
import { type Pool, type PoolConnection, select, transaction } from '../connections/mysql.ts';
import { isStoreUnavailable } from '../connections/store-errors.ts';
import { keptAfterEndMs, type LabOptions, type Voucher } from '../domain.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { checkpoint } from '../trace/checkpoints.ts';

export type NewVoucher = Omit<Voucher, 'id'>;

/**
 * How long each instance caches lists, vouchers and 404s, because anybody may ask for them. A new
 * voucher may be unknown to an instance for this time, if somebody asked for its id before.
 */
export const answerKeptMs = 1_000;
/** Vouchers per page of the list. */
export const pageSize = 100;
/** Ids are below it: MySQL counts them from 1. */
const idMax = '9223372036854775807';

interface Row extends Omit<Voucher, 'lab' | 'buckets' | 'paused' | 'passesAtOnce'> {
  readonly buckets: number | null;
  readonly passesAtOnce: number | null;
  /** Null when it was never changed. */
  readonly paused: number | null;
  /** The first of the lab options; null when the voucher has none. */
  readonly rails: number | null;
  readonly workMs: number;
  readonly retries: number;
}

const selectVouchers = `
  SELECT CAST(v.id AS CHAR) AS id, v.title, s.initial_stock AS stock,
         v.begin_time AS beginTime, v.end_time AS endTime, v.rung, b.buckets, st.paused,
         w.passes_at_once AS passesAtOnce,
         l.rails, l.work_ms AS workMs, l.retries
  FROM vouchers v
  JOIN seckill_stock s ON s.voucher_id = v.id
  LEFT JOIN voucher_buckets b ON b.voucher_id = v.id
  LEFT JOIN voucher_states st ON st.voucher_id = v.id
  LEFT JOIN voucher_waiting_rooms w ON w.voucher_id = v.id
  LEFT JOIN lab_options l ON l.voucher_id = v.id`;

function asVoucher(found: Row): Voucher {
  const { buckets, paused, passesAtOnce, rails, workMs, retries, ...row } = found;
  const voucher = {
    ...row,
    ...(buckets !== null && { buckets }),
    ...(paused === 1 && { paused: true }),
    ...(passesAtOnce !== null && { passesAtOnce }),
  };
  return rails === null ? voucher : { ...voucher, lab: { rails: rails === 1, workMs, retries } };
}

/** Null when none is declared. */
export async function declaredBuckets(pool: Pool, voucherId: string): Promise<number | null> {
  const [row] = await select<{ buckets: number }>(
    pool,
    'SELECT buckets FROM voucher_buckets WHERE voucher_id = ?',
    [voucherId],
  );
  return row?.buckets ?? null;
}

export interface Vouchers {
  /**
   * Inserts the voucher, prepares its sale, then commits: MySQL has no voucher without a sale, also
   * when this process dies in between. Then nobody ever has to prepare a sale again, and a sale
   * that Redis has lost cannot be taken for one that it never had.
   * @param prepare prepares the sale, in the same transaction where it writes to MySQL. If it
   *   throws, MySQL does not keep the voucher.
   * @throws COMMIT_UNKNOWN when the voucher may exist; else the error of `prepare` or of MySQL.
   */
  create(voucher: NewVoucher, prepare: Inventory['prepare']): Promise<Voucher>;
  /**
   * After the first call it is found in this instance's memory, so a purchase needs no query. What
   * an operator may change is as it was then.
   */
  find(id: string): Voucher | undefined | Promise<Voucher | undefined>;
  /** As it was within the last second. */
  look(id: string): Promise<Voucher | undefined>;
  /** After a change: this instance and Redis read it again. */
  forget(id: string): Promise<void>;
  /**
   * A page of them, the newest first; those of the last second may be missing.
   * @param before the id of the last voucher of the page before it
   */
  list(before?: string): Promise<Voucher[]>;
}

export function openVouchers(connections: Connections): Vouchers {
  const pool = connections.mysql();
  const cached = {
    ...{ max: 10_000, ignoreFetchAbort: true }, // What is cleared while it is read is not kept.
    fetchMethod: (id: string) => readVoucher(connections, id),
  };
  const known = new LRUCache<string, Voucher>(cached);
  const looks = new LRUCache<string, Voucher>({ ...cached, ttl: answerKeptMs });
  const unknown = new LRUCache<string, true>({ max: 10_000, ttl: answerKeptMs });
  const lists = pagesOfVouchers(pool);

  async function fetch(from: typeof known, id: string): Promise<Voucher | undefined> {
    if (unknown.has(id)) return undefined;
    const voucher = await from.fetch(id);
    if (!voucher) unknown.set(id, true);
    return voucher;
  }

  return {
    create: async (voucher, prepare) => {
      const created = await transaction(pool, 'READ COMMITTED', (db) =>
        insertPrepared(db, voucher, prepare),
      );
      unknown.delete(created.id);
      lists.clear();
      await writeCopy(connections, created);
      return created;
    },
    find: (id) => known.get(id) ?? (unknown.has(id) ? undefined : fetch(known, id)),
    look: async (id) => {
      const voucher = await fetch(looks, id);
      if (voucher) known.set(id, voucher); // A purchase needs no query then.
      return voucher;
    },
    forget: async (id) => {
      for (const cache of [known, looks]) cache.delete(id);
      lists.clear();
      await known.fetch(id);
    },
    list: async (before = idMax) => (await lists.fetch(before)) ?? [],
  };
}

async function readVoucher(connections: Connections, id: string): Promise<Voucher | undefined> {
  try {
    const query = `${selectVouchers} WHERE v.id = ?`;
    const [row] = await select<Row>(connections.mysql(), query, [id]);
    const voucher = row && asVoucher(row);
    if (voucher) void writeCopy(connections, voucher);
    return voucher;
  } catch (error) {
    const copy = isStoreUnavailable(error) ? await readCopy(connections, id) : undefined;
    if (copy) return copy;
    throw error;
  }
}

/** By the id that all of a page are below. */
const pagesOfVouchers = (pool: Pool) =>
  new LRUCache<string, Voucher[]>({
    max: 100,
    ttl: answerKeptMs,
    ignoreFetchAbort: true, // A page that is cleared while it is read is answered, and not kept.
    fetchMethod: async (before) => {
      const older = `WHERE v.id < CAST(? AS SIGNED) ORDER BY v.id DESC LIMIT ${pageSize}`;
      return (await select<Row>(pool, `${selectVouchers} ${older}`, [before])).map(asVoucher);
    },
  });

async function insertPrepared(
  db: PoolConnection,
  voucher: NewVoucher,
  prepare: Inventory['prepare'],
): Promise<Voucher> {
  const inserted = { ...voucher, id: await insertVoucher(db, voucher) };
  await checkpoint('voucher-inserted');
  await prepare(inserted, db);
  await checkpoint('before-commit');
  return inserted;
}

async function insertVoucher(db: PoolConnection, voucher: NewVoucher): Promise<string> {
  const { title, stock, beginTime, endTime, rung, buckets, passesAtOnce, lab } = voucher;
  const [{ insertId }] = await db.execute<ResultSetHeader>(
    'INSERT INTO vouchers (title, begin_time, end_time, rung) VALUES (?, ?, ?, ?)',
    [title, beginTime, endTime, rung],
  );
  await db.execute(
    'INSERT INTO seckill_stock (voucher_id, initial_stock, stock) VALUES (?, ?, ?)',
    [insertId, stock, stock],
  );
  if (buckets !== undefined) await insertBuckets(db, insertId, buckets);
  if (passesAtOnce !== undefined) await insertWaitingRoom(db, insertId, passesAtOnce);
  if (lab) await insertLabOptions(db, insertId, lab);
  return String(insertId);
}

async function insertBuckets(db: PoolConnection, id: number, buckets: number): Promise<void> {
  const statement = 'INSERT INTO voucher_buckets (voucher_id, buckets) VALUES (?, ?)';
  await db.execute(statement, [id, buckets]);
}

async function insertWaitingRoom(db: PoolConnection, id: number, passes: number): Promise<void> {
  const statement = 'INSERT INTO voucher_waiting_rooms (voucher_id, passes_at_once) VALUES (?, ?)';
  await db.execute(statement, [id, passes]);
}

async function insertLabOptions(db: PoolConnection, id: number, lab: LabOptions): Promise<void> {
  await db.execute(
    'INSERT INTO lab_options (voucher_id, rails, work_ms, retries) VALUES (?, ?, ?, ?)',
    [id, lab.rails ? 1 : 0, lab.workMs, lab.retries],
  );
}

/**
 * A copy of each voucher in Redis: while MySQL is away, an instance that has just started sells it
 * all the same. MySQL is asked first, since it alone knows which vouchers were created. To write it
 * may fail: without its copy, the voucher is sold only while MySQL answers.
 */
async function writeCopy(connections: Connections, voucher: Voucher): Promise<void> {
  const leftMs = voucher.endTime.getTime() + keptAfterEndMs - Date.now();
  if (leftMs <= 0) return;
  const redis = connections.redis('admin');
  const key = copyKey(connections, voucher.id);
  await redis.set(key, JSON.stringify(voucher), 'PX', leftMs).catch(() => {});
}

/** Undefined also when Redis does not answer. */
async function readCopy(connections: Connections, id: string): Promise<Voucher | undefined> {
  const redis = connections.redis('admin');
  const text = await redis.get(copyKey(connections, id)).catch(() => null);
  if (text === null) return undefined;
  const copy = JSON.parse(text) as Omit<Voucher, 'beginTime' | 'endTime'> &
    Readonly<Record<'beginTime' | 'endTime', string>>;
  return { ...copy, beginTime: new Date(copy.beginTime), endTime: new Date(copy.endTime) };
}

const copyKey = ({ saleKeys }: Connections, id: string): string => saleKeys.of(id).about(id);
