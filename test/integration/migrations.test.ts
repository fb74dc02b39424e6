/** The migrations: once each, from many processes, and from where a killed process stopped. */
import { expect, test } from 'vitest';
import { select } from '../../src/service/connections/mysql.ts';
import { openPool } from '../../src/service/connections/mysql-pool.ts';
import { migrate } from '../../src/service/connections/schema.ts';
import { ownDatabase } from '../support/own-stores.ts';
import { proxyBefore } from '../support/test-proxy.ts';

const tables = [
  ...['fences', 'lab_options', 'migrations', 'orders'],
  ...['seckill_stock', 'store_epoch', 'voucher_buckets', 'voucher_changes', 'voucher_states'],
  ...['voucher_units', 'voucher_waiting_rooms', 'vouchers'],
];

async function contentOf(url: string): Promise<{ tables: string[]; migrations: string[] }> {
  const pool = openPool(url, { connectionLimit: 1, answerMs: 10_000 });
  const names = (sql: string) =>
    select<{ name: string }>(pool, sql).then((rows) => rows.map(({ name }) => name));
  const found = await names(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()',
  );
  const migrations = await names('SELECT name FROM migrations ORDER BY name');
  await pool.end();
  return { tables: found.toSorted(), migrations };
}

test('run once, however often and from however many processes they are asked for', async () => {
  const url = await ownDatabase();
  await Promise.all([migrate(url), migrate(url), migrate(url)]);
  const first = await contentOf(url);
  expect(first.tables).toEqual(tables);
  await migrate(url);
  expect(await contentOf(url)).toEqual(first);
});

test('go on where a process stopped, between any two statements', async () => {
  const whole = await ownDatabase();
  await migrate(whole);
  const { migrations } = await contentOf(whole);
  let cuts = 0;
  for (let answers = 1; ; answers++) {
    const url = await ownDatabase();
    const cut = await proxyBefore(url, { type: 'swallow', after: answers });
    const stopped = await migrate(cut.url).then(
      () => false,
      () => true,
    );
    await migrate(url);
    const content = { tables, migrations };
    expect(await contentOf(url), `stopped after ${answers} answers`).toEqual(content);
    if (!stopped) break;
    cuts += 1;
  }
  // Each migration is a statement and its record.
  expect(cuts).toBeGreaterThan(migrations.length * 2);
});
