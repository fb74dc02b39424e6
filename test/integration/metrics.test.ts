/**
 * The metrics of a service: each process has its own, and they say what a buyer, an operator and
 * SQL say. The observer finds what MySQL lost, while /readyz and every sale see nothing.
 */
import { expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { change } from '../../src/service/connections/mysql.ts';
import { openProcess, ownStores } from '../support/own-stores.ts';
import { ownPorts } from '../support/servers.ts';
import { deploy, startLoggedService } from '../support/service-process.ts';

/** The sum of all series of this name that have these labels; null without one. */
async function metric(port: number, name: string, labels = ''): Promise<number | null> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const values = text
    .split('\n')
    .filter((line) => new RegExp(`^${name}[{ ]`).test(line) && line.includes(labels))
    .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}

test('every process counts what it did, and the observer says what MySQL has lost', async () => {
  const stores = await ownStores();
  const connections = await openProcess(stores);
  const primary = await ownPorts(19_960, 4);
  const [api, worker, observer] = [primary + 1, primary + 2, primary + 3];
  const { events, onSale, buy, place, isReady } = await deploy({
    ...stores,
    ...{ METRICS_PORT: String(primary), RECONCILE_EVERY_MS: '500' },
  });
  const id = await onSale({ stock: 100 });
  const line = await onSale({ passesAtOnce: 1 });
  for (const user of [1, 2, 3]) await place(line, user);
  const buyAs = async (user: number) => (await buy(id, user)).httpStatus;
  for (let user = 1; user <= 80; user++) expect(await buyAs(user)).toBe(202);
  expect(await buyAs(1)).toBe(409);

  expect(await metric(api, 'lockstep_purchases_total', 'outcome="accepted"')).toBe(80);
  expect(await metric(api, 'lockstep_purchases_total', 'outcome="already-ordered"')).toBe(1);
  expect(await metric(api, 'lockstep_purchase_seconds_count', 'rung="lua-stream"')).toBe(81);
  expect(await metric(api, 'nodejs_eventloop_lag_seconds')).not.toBeNull();
  const recorded = () => metric(worker, 'lockstep_orders_settled_total', 'result="recorded"');
  await waitUntil('all to be recorded', 20_000, async () => (await recorded()) === 80);
  expect(await metric(worker, 'lockstep_batch_orders_sum')).toBe(80);
  const isDrained = async () => (await metric(observer, 'lockstep_queue_orders')) === 0;
  await waitUntil('the queue to be empty', 20_000, isDrained);
  expect(await metric(observer, 'lockstep_voucher_stock', `voucher="${id}"`)).toBe(20);
  expect(await metric(observer, 'lockstep_waiting_users', `voucher="${line}"`)).toBe(2);
  expect(await metric(observer, 'lockstep_oldest_order_seconds')).toBe(0);
  expect(await metric(observer, 'lockstep_dead_letters')).toBe(0);
  expect(await metric(observer, 'lockstep_store_up')).toBe(2);

  const differences = () => metric(observer, 'lockstep_reconcile_differences');
  await waitUntil('a reconciliation', 20_000, async () => (await differences()) === 0);
  expect(events('stores-differ')).toEqual([]);
  // At once: the observer says each state of the stores that differ once.
  const lose = 'DELETE FROM orders WHERE voucher_id = ? ORDER BY id LIMIT 60';
  expect(await change(connections.mysql(), lose, [id])).toBe(60);
  await waitUntil('the loss to be said', 20_000, async () => ((await differences()) ?? 0) >= 60);
  expect(events('stores-differ')).toHaveLength(1);
  expect(await isReady()).toBe(true);
}, 180_000);

test('a store that does not answer has no figures, and the others stay', async () => {
  const stores = await ownStores();
  const primary = await ownPorts(19_960, 4);
  const observer = primary + 2; // After the one order worker.
  const { events } = await startLoggedService({ ...stores, METRICS_PORT: String(primary) });
  const up = (store: string) => metric(observer, 'lockstep_store_up', `store="${store}"`);
  // A process that starts meanwhile would end, because it compares the epochs.
  await waitUntil('the observer', 20_000, () => events('observing').length > 0);
  expect(await up('mysql')).toBe(1);
  const connections = await openProcess(stores);
  await change(connections.mysql(), 'RENAME TABLE store_epoch TO gone_epoch', []);
  expect(await up('mysql')).toBe(0);
  expect(await up('redis')).toBe(1);
  await change(connections.mysql(), 'RENAME TABLE voucher_changes TO gone_changes', []);
  expect(await metric(observer, 'lockstep_voucher_changes_begun')).toBeNull();
  expect(await metric(observer, 'lockstep_queue_orders')).toBe(0);
});
