/** Two accounts of MySQL: one makes the tables, and the service sells with one that cannot. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import mysql from 'mysql2/promise';
import { expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { migrate } from '../../src/service/connections/schema.ts';
import { accountWithRows, ownStores } from '../support/own-stores.ts';
import { deploy, launchService } from '../support/service-process.ts';

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
  const { onSale, place, buy, operate, confirmed } = await deploy(env);
  const id = await onSale({ passesAtOnce: 1 });
  const { pass = '' } = await place(id, 7);
  const bought = await buy(id, 7, { 'purchase-pass': pass });
  expect(bought.httpStatus).toBe(202);
  expect((await operate('PATCH', `/vouchers/${id}`, { stock: 9 })).status).toBe(200);
  await confirmed(bought.location, 7);
  const commands = commandsWith(mark);
  expect(commands.length).toBe(1);
  expect(commands[0]).toContain('service.js');
  const rows = await mysql.createConnection(url);
  onTestFinished(() => rows.end());
  for (const statement of ['DROP TABLE orders', 'CREATE TABLE t (i INT)', 'TRUNCATE orders'])
    await expect(rows.query(statement)).rejects.toThrow('denied');
}, 120_000);

test('a service whose account makes no tables waits for them, and needs no more rights then', async () => {
  const { MYSQL_URL: owner, ...stores } = await ownStores();
  const db = await mysql.createConnection(owner);
  onTestFinished(() => db.end());
  await db.query('DROP TABLE voucher_waiting_rooms');
  await db.query("DELETE FROM migrations WHERE name LIKE '0011%'");
  const MYSQL_URL = await accountWithRows(owner);
  const { events, ready } = await launchService({ ...stores, MYSQL_URL });
  const isWaiting = async () => events('store-not-ready').length > 1;
  await waitUntil('the service to wait', 20_000, isWaiting);
  expect(events('store-not-ready')[0]).toMatchObject({
    error: expect.stringMatching(/Missing in MySQL: 0011-voucher-waiting-rooms; .*MYSQL_OWNER_URL/),
  });
  expect(events('started')).toEqual([]);
  await migrate(owner);
  await ready();
}, 120_000);
