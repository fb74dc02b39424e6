/** Vouchers in MySQL. A voucher never changes, so each instance may keep it in memory. */
import { LRUCache } from 'lru-cache';
import type { ResultSetHeader } from 'mysql2';
import type { Connections } from '../connections/connections.ts';
import { type Pool, type PoolConnection, select, transaction } from '../connections/mysql.ts';
import type { LabOptions, Voucher } from '../domain.ts';

export type NewVoucher = Omit<Voucher, 'id'>;

interface Row extends Omit<Voucher, 'lab'> {
  /** The first of the lab options; null when the voucher has none. */
  readonly rails: number | null;
  readonly workMs: number;
  readonly retries: number;
}

const selectVouchers = `
  SELECT CAST(v.id AS CHAR) AS id, v.title, s.initial_stock AS stock,
         v.begin_time AS beginTime, v.end_time AS endTime, v.rung,
         l.rails, l.work_ms AS workMs, l.retries
  FROM vouchers v
  JOIN seckill_stock s ON s.voucher_id = v.id
  LEFT JOIN lab_options l ON l.voucher_id = v.id`;

function asVoucher({ rails, workMs, retries, ...voucher }: Row): Voucher {
  return rails === null ? voucher : { ...voucher, lab: { rails: rails === 1, workMs, retries } };
}

export interface Vouchers {
  create(voucher: NewVoucher): Promise<Voucher>;
  /** After the first call it is found in this instance's memory, so a purchase needs no query. */
  find(id: string): Promise<Voucher | undefined>;
  /** For a voucher that never went on sale. */
  remove(id: string): Promise<void>;
  /** The newest first. */
  list(limit: number): Promise<Voucher[]>;
}

export function openVouchers(connections: Connections): Vouchers {
  const pool = connections.mysql();
  const known = new LRUCache<string, Voucher>({
    max: 10_000,
    fetchMethod: async (id) => {
      const [row] = await select<Row>(pool, `${selectVouchers} WHERE v.id = ?`, [id]);
      return row && asVoucher(row);
    },
  });
  return {
    create: (voucher) => create(pool, voucher),
    remove: (id) => remove(pool, id),
    find: async (id) => known.get(id) ?? known.fetch(id),
    list: async (limit) => {
      const rows = await select<Row>(pool, `${selectVouchers} ORDER BY v.id DESC LIMIT ${limit}`);
      return rows.map(asVoucher);
    },
  };
}

async function create(pool: Pool, voucher: NewVoucher): Promise<Voucher> {
  const { title, stock, beginTime, endTime, rung, lab } = voucher;
  const id = await transaction(pool, 'READ COMMITTED', async (db) => {
    const [{ insertId }] = await db.execute<ResultSetHeader>(
      'INSERT INTO vouchers (title, begin_time, end_time, rung) VALUES (?, ?, ?, ?)',
      [title, beginTime, endTime, rung],
    );
    await db.execute(
      'INSERT INTO seckill_stock (voucher_id, initial_stock, stock) VALUES (?, ?, ?)',
      [insertId, stock, stock],
    );
    if (lab) await insertLabOptions(db, insertId, lab);
    return String(insertId);
  });
  return { ...voucher, id };
}

async function insertLabOptions(db: PoolConnection, id: number, lab: LabOptions): Promise<void> {
  await db.execute(
    'INSERT INTO lab_options (voucher_id, rails, work_ms, retries) VALUES (?, ?, ?, ?)',
    [id, lab.rails ? 1 : 0, lab.workMs, lab.retries],
  );
}

async function remove(pool: Pool, id: string): Promise<void> {
  await transaction(pool, 'READ COMMITTED', async (db) => {
    await db.execute('DELETE FROM lab_options WHERE voucher_id = ?', [id]);
    await db.execute('DELETE FROM seckill_stock WHERE voucher_id = ?', [id]);
    await db.execute('DELETE FROM vouchers WHERE id = ?', [id]);
  });
}
