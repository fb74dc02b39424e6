/** Transactions on a real server: what is rolled back, and what the errors are told by. */
import { expect, test } from 'vitest';
import {
  change,
  isContention,
  isDuplicateKey,
  isRowRefused,
  isStatementRefused,
  type PoolConnection,
  select,
  transaction,
} from '../../src/service/connections/mysql.ts';
import { stockPositive } from '../../src/service/inventory/stock-positive.ts';
import { freeLease } from '../../src/service/locks/none.ts';
import { testConnections } from '../support/connections.ts';
import { isOnMysql } from '../support/own-lab.ts';
import { lockRow, setGlobal } from '../support/own-stores.ts';
import { someOrder, someVoucher } from '../support/sale.ts';

const takeStock = 'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ?';

/** Nothing, when it succeeds. */
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test('a lock wait that times out undoes the whole transaction, and not its last statement only', async () => {
  // One connection: it would see, and later commit, what was not rolled back.
  const connections = testConnections({ MYSQL_POOL_SIZE: '1' });
  const pool = connections.mysql();
  const [mine, theirs] = [await someVoucher(connections), await someVoucher(connections)];
  const other = testConnections().mysql();
  const letGo = await lockRow(other, `seckill_stock WHERE voucher_id = ${theirs.id}`);
  const blocked = transaction(pool, 'READ COMMITTED', async (db) => {
    await db.query('SET innodb_lock_wait_timeout = 1');
    await change(db, takeStock, [mine.id]);
    await change(db, takeStock, [theirs.id]);
  });
  expect(isContention(await failureOf(blocked))).toBe(true);
  await letGo();
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
  const sql = "INSERT INTO orders (id, voucher_id, user_id, request_id) VALUES (?, ?, 7, 'test')";
  const insert = () => transaction(pool, 'READ COMMITTED', (db) => change(db, sql, [order.id, id]));
  await insert();
  expect(isDuplicateKey(await failureOf(insert()))).toBe(true);
  expect(await select(pool, "SELECT 'x' AS one")).toEqual([{ one: 'x' }]);
});

test.each([
  ['a text for a number', "user_id = 'seven'"],
  ['a number that is too large', `user_id = ${'9'.repeat(25)}`],
  ['a text that is too long', `request_id = '${'x'.repeat(65)}'`],
  ['a text that is not ASCII', "request_id = '优惠券'"],
  ['a status that is none', "status = 'lost'"],
  ['nothing', 'request_id = NULL'],
])('a row with %s is refused, and no error of the moment', async (_, change_) => {
  const connections = testConnections();
  const { id } = await someVoucher(connections);
  const order = someOrder(id, '7');
  const columns = `id = ${order.id}, voucher_id = ${id}, user_id = 7, request_id = 'test'`;
  const [column = ''] = change_.split(' ');
  const kept = columns.split(', ').filter((each) => !each.startsWith(`${column} `));
  const statement = `INSERT INTO orders SET ${[...kept, change_].join(', ')}`;
  const error = await failureOf(connections.mysql().query(statement));
  expect(error).toBeInstanceOf(Error);
  expect([isRowRefused(error), isStatementRefused(error), isContention(error)]).toEqual([
    ...[true, true, false],
  ]);
});

test('a table that is missing, and a connection that is refused, are not about a row', async () => {
  const pool = testConnections().mysql();
  const missing = await failureOf(pool.query('SELECT 1 FROM nothing'));
  expect([isRowRefused(missing), isStatementRefused(missing)]).toEqual([false, true]);
  const nowhere = testConnections({ MYSQL_URL: 'mysql://a:b@127.0.0.1:1/shop' }).mysql();
  const refused = await failureOf(nowhere.query('SELECT 1'));
  expect([isRowRefused(refused), isStatementRefused(refused)]).toEqual([false, false]);
});

/** In a snapshot: read the stock, let another take one, take one. @returns an error, or nothing */
async function changeWhatAnotherChanged(before: (db: PoolConnection) => Promise<unknown>) {
  const connections = testConnections();
  const pool = connections.mysql();
  const { id } = await someVoucher(connections);
  const late = transaction(pool, 'REPEATABLE READ', async (db) => {
    await before(db);
    await select(db, 'SELECT stock FROM seckill_stock WHERE voucher_id = ?', [id]);
    await change(pool, takeStock, [id]);
    await change(db, takeStock, [id]);
  });
  return failureOf(late);
}

test('a row that another transaction changed after this one read it is contention', async () => {
  // Only MariaDB has it, and from 11.8 on it is the default.
  const error = await changeWhatAnotherChanged((db) =>
    db.query('SET SESSION innodb_snapshot_isolation = ON'),
  );
  expect(error).toMatchObject({ errno: isOnMysql ? 1193 : 1020 });
  expect(isContention(error)).toBe(!isOnMysql);
});

test('in the lab such a row can be changed, on every MariaDB as on MySQL', async () => {
  expect(await changeWhatAnotherChanged(async () => {})).toBeUndefined();
});

test('too many prepared statements refuse a sale, and it sells when there is room', async () => {
  const connections = testConnections();
  const voucher = await someVoucher(connections);
  const sell = (user: string) =>
    stockPositive(connections.mysql()).sell(someOrder(voucher.id, user), voucher, freeLease);
  await setGlobal('max_prepared_stmt_count', 0, 16_382);
  expect(await sell('7')).toMatchObject({ kind: 'refused', reason: 'not-ready' });
  await setGlobal('max_prepared_stmt_count', 16_382, 16_382);
  expect(await sell('8')).toMatchObject({ kind: 'accepted' });
});

test.each([
  [1020, false],
  [1205, false],
  [1213, false],
  [1290, false],
  [1180, true],
  [undefined, true],
])('a COMMIT that is answered with error %s is unknown: %s', async (errno, isUnknown) => {
  const pool = testConnections().mysql();
  const connection = await pool.getConnection();
  const refused = Object.assign(new Error('refused'), { errno });
  const commit = () => Promise.reject(refused);
  const getConnection = async () => Object.assign(connection, { commit });
  const refusing = Object.assign(Object.create(pool), { getConnection });
  const error = await failureOf(transaction(refusing, 'READ COMMITTED', async () => {}));
  if (isUnknown) expect(error).toMatchObject({ code: 'COMMIT_UNKNOWN' });
  else expect(error).toBe(refused);
});
