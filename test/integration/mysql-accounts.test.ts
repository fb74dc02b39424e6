/** Two accounts of MySQL: one makes the tables, and the service sells with one that cannot. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import mysql from 'mysql2/promise';
import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../src/connections/schema.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { call, deploymentSecret, putOnSale, tokenFor } from '../support/client.ts';
import { startLoggedService } from '../support/logged-service.ts';
import { accountWithRows } from '../support/own-database.ts';
import { ownStores } from '../support/own-stores.ts';
import { startService } from '../support/service-process.ts';

const entry = new URL('../../dist/bin/service.js', import.meta.url).pathname;

/** Of the processes whose environment has this text. */
function commandsWith(text: string): string[] {
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return ids.flatMap((id) => {
    try {
      const environment = readFileSync(`/proc/${id}/environ`, 'utf8');
      return environment.includes(text) ? [readFileSync(`/proc/${id}/cmdline`, 'utf8')] : [];
    } catch {
      return []; // It has ended.
    }
  });
}

test('a deployment sells with an account that reads and writes rows, and makes no table', async () => {
  const { MYSQL_URL: owner, ...stores } = await ownStores();
  const url = await accountWithRows(owner);
  const mark = randomBytes(8).toString('hex');
  const ownerUrl = `${owner}?connectAttributes=${encodeURIComponent(`{"mark":"${mark}"}`)}`;
  const env = { ...stores, MYSQL_URL: url, MYSQL_OWNER_URL: ownerUrl };
  const db = await mysql.createConnection(owner);
  onTestFinished(() => db.end());
  await db.query('DROP TABLE migrations, voucher_waiting_rooms'); // The service makes them again.
  const { baseUrl, stop } = await startService(entry, { ...env, TOKEN_SECRET: deploymentSecret });
  onTestFinished(async () => void (await stop()));
  const operator = await tokenFor('1', 'operator', deploymentSecret);
  const id = await putOnSale({ passesAtOnce: 1 }, { baseUrl, token: operator });
  const token = await tokenFor('7', 'user', deploymentSecret);
  const place = await call(`/vouchers/${id}/place`, { method: 'POST', token, baseUrl });
  const { pass = '' } = (await place.json()) as { pass?: string };
  const bought = await call(`/vouchers/${id}/orders`, {
    ...{ method: 'POST', token, baseUrl, headers: { 'purchase-pass': pass } },
  });
  expect(bought.status).toBe(202);
  const change = { method: 'PATCH', token: operator, baseUrl, body: { stock: 9 } };
  expect((await call(`/vouchers/${id}`, change)).status).toBe(200);
  const path = bought.headers.get('location') ?? '';
  await waitUntil('the order', 20_000, async () => {
    const { status } = (await (await call(path, { token, baseUrl })).json()) as { status: string };
    return status === 'confirmed';
  });
  const commands = commandsWith(mark);
  expect(commands.length).toBe(1);
  expect(commands[0]).toContain('service.js');
  const rows = await mysql.createConnection(url);
  onTestFinished(() => rows.end());
  for (const statement of ['DROP TABLE orders', 'CREATE TABLE t (i INT)', 'TRUNCATE orders'])
    await expect(rows.query(statement)).rejects.toThrow('denied');
}, 60_000);

test('a service whose account makes no tables waits for them, and needs no more rights then', async () => {
  const { MYSQL_URL: owner, ...stores } = await ownStores();
  const db = await mysql.createConnection(owner);
  onTestFinished(() => db.end());
  await db.query('DROP TABLE voucher_waiting_rooms');
  await db.query("DELETE FROM migrations WHERE name LIKE '0011%'");
  const MYSQL_URL = await accountWithRows(owner);
  const { port, events } = await startLoggedService({ ...stores, MYSQL_URL, INSTANCES: '1' });
  const isWaiting = async () => events('store-not-ready').length > 1;
  await waitUntil('the service to wait', 20_000, isWaiting);
  expect(events('store-not-ready')[0]).toMatchObject({
    error: expect.stringMatching(/Missing in MySQL: 0011-voucher-waiting-rooms; .*MYSQL_OWNER_URL/),
  });
  expect(events('started')).toEqual([]);
  await migrate(owner);
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  await waitUntil('the service to be ready', 20_000, () => isReady().catch(() => false));
}, 60_000);
