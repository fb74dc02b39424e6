/** The service starts before MySQL, and waits for it; but not without end. */
import { readdirSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TcpProxy } from '../../src/lab/environment/proxy/tcp-proxy.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder } from '../support/basics.ts';
import { quietRedis, testConnections } from '../support/connections.ts';
import { ownLab } from '../support/own-lab.ts';
import { ownStores, setGlobal } from '../support/own-stores.ts';
import { ownPorts } from '../support/servers.ts';
import { deploy, firstOf, launchService } from '../support/service-process.ts';

/** MySQL is behind a proxy that refuses connections until it listens. */
async function behindProxy(MYSQL_URL: string) {
  const url = new URL(MYSQL_URL);
  const port = await ownPorts(19_950);
  const proxy = new TcpProxy(port, Number(url.port));
  url.port = String(port);
  const goAway = () => proxy.close();
  onTestFinished(goAway);
  return { MYSQL_URL: url.href, listen: () => proxy.listen(), goAway };
}

/** Of a service on stores of its own, whose MySQL is away, and can come. */
async function storesWithoutMysql() {
  const stores = await ownStores();
  const { MYSQL_URL, listen, goAway } = await behindProxy(stores.MYSQL_URL);
  const settings = { ...stores, MYSQL_URL, PROGRESS_WITHIN_MS: '10000' };
  return { stores, settings, listen, goAway };
}

test('the service that starts before MySQL waits for it, and its order worker makes progress', async () => {
  const folder = someFolder();
  const { REDIS_URL } = await ownStores(); // Empty: the service cannot sell without MySQL.
  const { MYSQL_URL, listen } = await behindProxy(ownLab.environment['MYSQL_URL'] ?? '');
  const service = await launchService({ MYSQL_URL, REDIS_URL, HEARTBEAT_FOLDER: folder });
  const isRefused = () => service.events('store-not-ready').length > 0;
  await waitUntil('a refused connection', 20_000, isRefused);
  await listen();
  await service.ready();
  const beats = () => readdirSync(folder).filter((name) => name.endsWith('.progress'));
  await waitUntil('progress of the order worker', 20_000, () => beats().length === 1);
});

test('an instance whose Redis ends in the middle of its start waits, and is not replaced', async () => {
  const { events, ready } = await launchService({
    ...{ REDIS_URL: quietRedis(), ORDER_WORKERS: '0' },
    ...firstOf('admin', 'evalsha', 'refuses'), // It leases a worker id for its order ids.
  });
  await ready();
  expect(events('store-not-ready')).toHaveLength(1);
  expect(events('child-exited')).toEqual([]);
});

describe('the service ends', () => {
  const endOf = async (settings: Readonly<Record<string, string>>) => {
    const { REDIS_URL } = await ownStores();
    const service = await launchService({ REDIS_URL, ...settings });
    await waitUntil('the end of the service', 20_000, service.hasEnded);
    expect(await service.stop()).toBe(1);
    return service.log();
  };

  test('when MySQL does not answer within START_WAIT_MS', async () => {
    const { MYSQL_URL } = await behindProxy(ownLab.environment['MYSQL_URL'] ?? '');
    // Long enough that it asks twice, also on a busy machine.
    const log = await endOf({ MYSQL_URL, START_WAIT_MS: '2000' });
    expect(log).toMatch(/store-not-ready[\s\S]*uncaught-exception[\s\S]*ECONNREFUSED/);
  });

  test('at once, when MySQL answers that it refuses the account', async () => {
    expect(await endOf({ MYSQL_PASSWORD: 'wrong' })).not.toContain('store-not-ready');
  });

  test('on a MySQL that may lose what it commits, unless that is said', async () => {
    await setGlobal('innodb_flush_log_at_trx_commit', 2);
    expect(await endOf({})).toContain('MYSQL_LOSES_COMMITS');
    await deploy({ REDIS_URL: (await ownStores()).REDIS_URL, MYSQL_MAY_LOSE_COMMITS: '1' });
  });
});

describe('a service that starts while MySQL is away', () => {
  test('sells the vouchers that Redis knows, says so, and records their orders when MySQL is back', async () => {
    const { settings, listen, goAway } = await storesWithoutMysql();
    await listen();
    const first = await deploy(settings);
    const id = await first.onSale();
    await first.stop();
    await goAway();
    const { baseUrl, log, buy, confirmed } = await deploy(settings);
    const readiness = await (await fetch(`${baseUrl}/readyz`)).json();
    expect(readiness).toMatchObject({ status: 'degraded', unanswered: ['MySQL'] });
    const sold = await buy(id, 7);
    expect(sold.httpStatus).toBe(202);
    expect((await buy('999999999', 7)).httpStatus).toBe(503); // Only MySQL knows of none.
    expect(log()).toContain('"event":"started-without-mysql"');
    await listen();
    await confirmed(sold.location, 7);
    await waitUntil('the comparison', 20_000, () => log().includes('"event":"mysql-is-back"'));
    expect((await buy(id, 7)).httpStatus).toBe(409);
  });

  test('ends when the MySQL that comes back belongs to other data', async () => {
    const { stores, settings, listen, goAway } = await storesWithoutMysql();
    await listen();
    await (await deploy(settings)).stop();
    await goAway();
    const { log, hasEnded } = await deploy(settings);
    await testConnections(stores).mysql().query('UPDATE store_epoch SET value = UUID()');
    await listen();
    await waitUntil('the end of the service', 20_000, hasEnded);
    expect(log()).toMatch(/"event":"stores-differ","error":"EPOCHS_DIFFER: /);
  });
});
