/** Vouchers in MySQL. What an operator sets never changes afterwards, so an instance may remember it. */
import { LRUCache } from 'lru-cache';
import type { Connections } from '../connections/connections.ts';
import { type Pool, select, transaction } from '../connections/mysql.ts';
import type { Voucher } from '../domain.ts';

export type NewVoucher = Omit<Voucher, 'id'>;

interface Row extends Omit<Voucher, 'rails'> {
  readonly rails: number;
}

const selectVouchers = `
  SELECT CAST(v.id AS CHAR) AS id, v.title, s.initial_stock AS stock, v.begin_time AS beginTime, v.end_time AS endTime,
         v.rung, v.rails, v.work_ms AS workMs, v.retries
  FROM vouchers v JOIN seckill_stock s ON s.voucher_id = v.id`;

const asVoucher = (row: Row): Voucher => ({ ...row, rails: row.rails === 1 });

export interface Vouchers {
  create(voucher: NewVoucher): Promise<Voucher>;
  /** Remembered by this instance, so that a purchase asks MySQL nothing. */
  find(id: string): Promise<Voucher | undefined>;
  /** For one that never went on sale. */
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
  const { title, stock, beginTime, endTime, rung, rails, workMs, retries } = voucher;
  const id = await transaction(pool, 'READ COMMITTED', async (db) => {
    const insertVoucher =
      'INSERT INTO vouchers (title, begin_time, end_time, rung, rails, work_ms, retries) VALUES (?, ?, ?, ?, ?, ?, ?)';
    const [{ insertId }] = await db.execute<import('mysql2').ResultSetHeader>(insertVoucher, [
      title,
      beginTime,
      endTime,
      rung,
      rails,
      workMs,
      retries,
    ]);
    await db.execute('INSERT INTO seckill_stock (voucher_id, initial_stock, stock) VALUES (?, ?, ?)', [
      insertId,
      stock,
      stock,
    ]);
    return String(insertId);
  });
  return { ...voucher, id };
}

async function remove(pool: Pool, id: string): Promise<void> {
  await transaction(pool, 'READ COMMITTED', async (db) => {
    await db.execute('DELETE FROM seckill_stock WHERE voucher_id = ?', [id]);
    await db.execute('DELETE FROM vouchers WHERE id = ?', [id]);
  });
}
