/** Transactions on a real server: what is rolled back, and what the errors are told by. */
import { expect, test } from 'vitest';
import {
  change,
  isContention,
  isDuplicateKey,
  select,
  transaction,
} from '../../src/connections/mysql.ts';
import { testConnections } from '../support/connections.ts';
import { someOrder, someVoucher } from '../support/sale.ts';

const takeStock = 'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ?';

test('a lock wait that times out undoes the whole transaction, and not its last statement only', async () => {
  const connections = testConnections();
  const pool = connections.mysql();
  const [mine, theirs] = [await someVoucher(connections), await someVoucher(connections)];
  const other = await pool.getConnection();
  await other.beginTransaction();
  await change(other, takeStock, [theirs.id]);
  const blocked = transaction(pool, 'READ COMMITTED', async (db) => {
    await db.query('SET innodb_lock_wait_timeout = 1');
    await change(db, takeStock, [mine.id]);
    await change(db, takeStock, [theirs.id]);
  });
  expect(isContention(await blocked.catch((error: unknown) => error))).toBe(true);
  await other.rollback();
  other.release();
  const rows = await select<{ stock: number }>(
    pool,
    'SELECT stock FROM seckill_stock WHERE voucher_id IN (?, ?)',
    [mine.id, theirs.id],
  );
  expect(rows.map(({ stock }) => stock)).toEqual([5, 5]);
});

test('a duplicate key is told by its number, and a connection is usable after it', async () => {
  const connections = testConnections({ MYSQL_POOL_SIZE: '1' });
  const pool = connections.mysql();
  const { id } = await someVoucher(connections);
  const order = someOrder(id, '7');
  const insert = () =>
    transaction(pool, 'READ COMMITTED', (db) =>
      change(
        db,
        `INSERT INTO orders (id, voucher_id, user_id, request_id) VALUES (?, ?, 7, 'test')`,
        [order.id, id],
      ),
    );
  await insert();
  expect(isDuplicateKey(await insert().catch((error: unknown) => error))).toBe(true);
  expect(await select(pool, "SELECT 'x' AS one")).toEqual([{ one: 'x' }]);
});
