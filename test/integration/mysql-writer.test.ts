/**
 * The writer moves behind one address: old connections take no writes, and new ones do. And a lock
 * that ends with its connection.
 */
import { expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import {
  change,
  type Pool,
  select,
  snapshot,
  transaction,
} from '../../src/service/connections/mysql.ts';
import { openPool, withMysqlLock } from '../../src/service/connections/mysql-pool.ts';
import { ownLab } from '../support/own-lab.ts';
import { accountWith, asRoot, makeReadOnly } from '../support/own-stores.ts';

const size = 4;
const write = 'UPDATE store_epoch SET value = value WHERE id = 0';

const ownUrl = ownLab.environment['MYSQL_URL'] ?? '';

function ownPool(connectionLimit = size, askEveryMs = 60_000, url = ownUrl): Pool {
  const pool = openPool(url, { connectionLimit, answerMs: 10_000, askEveryMs });
  onTestFinished(() => pool.end());
  return pool;
}

/** All connections that the pool may have are those of a server that takes no writes any more. */
async function moveWriter(pool: Pool): Promise<void> {
  const taken = await Promise.all(Array.from({ length: size }, () => pool.getConnection()));
  for (const each of taken) await each.query('SET SESSION TRANSACTION READ ONLY');
  for (const each of taken) each.release();
}

const idOf = async (pool: Pool) => (await select(pool, 'SELECT CONNECTION_ID() AS id'))[0];

test.each<[string, (pool: Pool) => Promise<unknown>]>([
  ['a statement', (pool) => change(pool, write)],
  ['a transaction', (pool) => transaction(pool, 'READ COMMITTED', (db) => change(db, write))],
  ['a query', (pool) => pool.query(write)],
])(
  '%s that is refused as read-only costs one refusal, and not one for each connection',
  async (_, send) => {
    const pool = ownPool();
    await moveWriter(pool);
    await expect(send(pool)).rejects.toMatchObject({ errno: 1792 });
    for (let count = 0; count < size; count++) await send(pool);
  },
);

test('a connection that was reading meanwhile is left when it is given back', async () => {
  const pool = ownPool();
  await moveWriter(pool);
  const before = await snapshot(pool, async (db) => {
    await expect(change(pool, write)).rejects.toMatchObject({ errno: 1792 });
    const [rows] = await db.query('SELECT CONNECTION_ID() AS id');
    return rows;
  });
  expect([await idOf(pool)]).not.toEqual(before);
  for (let count = 0; count < size; count++) await change(pool, write);
});

test('a statement that is killed ends no session', async () => {
  const pool = ownPool(1);
  const before = await idOf(pool);
  const killed = "SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317"; // As KILL QUERY answers it.
  await expect(pool.query(killed)).rejects.toMatchObject({ errno: 1317 });
  expect(await idOf(pool)).toEqual(before);
});

test('a pool that only reads leaves a server that has become read-only', async () => {
  const pool = ownPool(1, 100);
  const before = await idOf(pool);
  await makeReadOnly();
  await waitUntil('another connection', 20_000, async () => {
    return JSON.stringify(await idOf(pool)) !== JSON.stringify(before);
  });
});

/** As behind a proxy that asks a reader what is only read. */
test('a pool whose writes succeed stays, also where its server says that it is read-only', async () => {
  const url = await accountWith(ownUrl, 'ALL ON lockstep.*', 'READ_ONLY ADMIN ON *.*');
  const pool = ownPool(1, 50, url);
  const before = await idOf(pool);
  await makeReadOnly();
  let asked = 0;
  pool.on('acquire', () => (asked += 1));
  await waitUntil('the pool to ask ten times', 20_000, () => asked >= 10);
  await change(pool, write);
  expect(await idOf(pool)).toEqual(before);
});

test('a pool is asked while a backup locks all tables, and no connection waits', async () => {
  const root = await asRoot();
  onTestFinished(() => root.end());
  const pool = ownPool(1, 50);
  await idOf(pool);
  await root.query('FLUSH TABLES WITH READ LOCK');
  let released = 0;
  pool.on('release', () => (released += 1));
  await waitUntil('ten questions to be answered', 20_000, () => released >= 10);
  await root.query('UNLOCK TABLES');
});

const lock = (work: () => Promise<string>) => withMysqlLock(ownUrl, 'lockstep-test', work);

test('a lock of MySQL is free once its work is over, also when that failed', async () => {
  for (let time = 0; time < 100; time++) {
    expect(await lock(async () => 'done'), `time ${time}`).toBe('done');
    const failing = lock(() => Promise.reject(new Error('killed')));
    await expect(failing, `time ${time}`).rejects.toThrow('killed');
  }
});

test('a lock of MySQL is refused while another connection has it', async () => {
  expect(await lock(async () => `inside: ${await lock(async () => 'done')}`)).toBe(
    'inside: undefined',
  );
});
