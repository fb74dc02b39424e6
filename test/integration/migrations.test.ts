/** The migrations: once each, from many processes, and from where a killed process stopped. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { select } from '../../src/connections/mysql.ts';
import { openPool } from '../../src/connections/mysql-pool.ts';
import { migrate } from '../../src/connections/schema.ts';
import { ownDatabase } from '../support/own-database.ts';

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

/** Passes on this many answers of the server, and cuts the connection at the next one. */
async function cutAfter(answers: number, url: string): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(url).port), '127.0.0.1');
    sockets.push(client, upstream);
    for (const socket of [client, upstream]) {
      socket.on('error', () => {});
      socket.on('close', () => [client, upstream].forEach((end) => void end.destroy()));
    }
    let left = answers;
    client.on('data', (data) => upstream.write(data));
    upstream.on('data', (data) => {
      left -= 1;
      if (left >= 0) client.write(data);
      else client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const cut = new URL(url);
  cut.port = String((server.address() as AddressInfo).port);
  return cut.href;
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
    const stopped = await migrate(await cutAfter(answers, url)).then(
      () => false,
      () => true,
    );
    await migrate(url);
    expect(await contentOf(url), `stopped after ${answers} answers`).toEqual({
      tables,
      migrations,
    });
    if (!stopped) break;
    cuts += 1;
  }
  // Each migration is a statement and its record.
  expect(cuts).toBeGreaterThan(migrations.length * 2);
});
