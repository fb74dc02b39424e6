/** The service starts before MySQL, and waits for it; but not without end. */
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isAlive } from '../../src/lab/environment/process-table.ts';
import { startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { call, deploymentSecret, openSale, tokenFor } from '../support/client.ts';
import { quietRedis, testConnections } from '../support/connections.ts';
import { someFolder } from '../support/folder.ts';
import { startLoggedService } from '../support/logged-service.ts';
import { setGlobal } from '../support/own-database.ts';
import { ownLab } from '../support/own-lab.ts';
import { ownPorts } from '../support/own-ports.ts';
import { ownStores } from '../support/own-stores.ts';

const entry = new URL('../../dist/bin/service.js', import.meta.url).pathname;

/** The settings of a service whose MySQL is on this port, and the service's own port. */
async function serviceWith(mysqlPort: number, changes: Readonly<Record<string, string>> = {}) {
  const url = new URL(ownLab.environment['MYSQL_URL'] ?? '');
  const realPort = Number(url.port);
  url.port = String(mysqlPort);
  const port = await ownPorts(19_910);
  const { REDIS_URL } = await ownStores(); // Empty: the service cannot sell without MySQL.
  const stores = { MYSQL_URL: url.href, REDIS_URL, TOKEN_SECRET: deploymentSecret };
  const numbers = { PORT: String(port), INSTANCES: '1', ORDER_WORKERS: '1' };
  const settings = { ...numbers, ORDER_DURABILITY: 'everysec' };
  return { realPort, port, env: { ...stores, ...settings, ...changes } };
}

/** MySQL listens here from now on. @returns what ends that, and every connection. */
async function listenFor(realPort: number, port: number): Promise<() => void> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    const mysql = connect(realPort, '127.0.0.1');
    for (const end of [client, mysql]) {
      end.on('error', () => {});
      end.on('close', () => [client, mysql].forEach((each) => void each.destroy()));
    }
    client.pipe(mysql).pipe(client);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => {
    server.close();
    for (const client of clients) client.destroy();
  };
  onTestFinished(stop);
  return stop;
}

test('the service that starts before MySQL waits for it, and its order worker makes progress', async () => {
  const folder = someFolder();
  const mysqlPort = await ownPorts(19_950);
  const { realPort, port, env } = await serviceWith(mysqlPort, { HEARTBEAT_FOLDER: folder });
  const logFile = join(folder, 'service.log');
  const service = startProcess({ command: process.execPath, args: [entry], env, logFile });
  onTestFinished(() => stopProcess(service));
  const log = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '');
  await waitUntil('a refused connection', 10_000, () => log().includes('store-not-ready'));
  await listenFor(realPort, mysqlPort);
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  await waitUntil('the service to be ready', 20_000, isReady);
  const beats = () => readdirSync(folder).filter((name) => name.endsWith('.progress'));
  await waitUntil('progress of the order worker', 10_000, () => beats().length === 1);
});

test('an instance whose Redis ends in the middle of its start waits, and is not replaced', async () => {
  const { port, events } = await startLoggedService({
    REDIS_URL: quietRedis(),
    INSTANCES: '1',
    ORDER_WORKERS: '0',
    NODE_OPTIONS: `--import ${new URL('../support/refuse-once.mjs', import.meta.url).pathname}`,
    REFUSE_ROLE: 'admin',
    REFUSE_COMMAND: 'evalsha', // It leases a worker id for its order ids.
    REFUSE_MARK: join(someFolder(), 'refused'),
  });
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  await waitUntil('the instance to be ready', 20_000, isReady);
  expect(events('store-not-ready')).toHaveLength(1);
  expect(events('child-exited')).toEqual([]);
});

test('the service gives up when MySQL does not answer within START_WAIT_MS', async () => {
  // Long enough that it asks twice, also on a busy machine.
  const { env } = await serviceWith(await ownPorts(19_950), { START_WAIT_MS: '2000' });
  const options = { env, reject: false, timeout: 20_000 };
  const { exitCode, stdout } = await execa(process.execPath, [entry], options);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/store-not-ready[\s\S]*uncaught-exception[\s\S]*ECONNREFUSED/);
});

test('the service does not wait when MySQL answers that it refuses the account', async () => {
  const url = new URL(ownLab.environment['MYSQL_URL'] ?? '');
  const { env } = await serviceWith(Number(url.port), { MYSQL_PASSWORD: 'wrong' });
  const options = { env, reject: false, timeout: 20_000 };
  const { exitCode, stdout } = await execa(process.execPath, [entry], options);
  expect(exitCode).toBe(1);
  expect(stdout).not.toContain('store-not-ready');
});

/** A service on stores of the test's own, whose MySQL can go away and come back. */
async function serviceOnOwnStores() {
  const stores = await ownStores();
  const mysqlPort = await ownPorts(19_950);
  const url = new URL(stores.MYSQL_URL);
  const realPort = Number(url.port);
  url.port = String(mysqlPort);
  const port = await ownPorts(19_910);
  const env = {
    ...stores,
    ...{ MYSQL_URL: url.href, TOKEN_SECRET: deploymentSecret, PORT: String(port) },
    ...{ INSTANCES: '1', ORDER_WORKERS: '1', PROGRESS_WITHIN_MS: '10000' },
  };
  const logFile = join(someFolder(), 'service.log');
  const log = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '');
  const start = () => {
    const service = startProcess({ command: process.execPath, args: [entry], env, logFile });
    onTestFinished(() => stopProcess(service));
    return service;
  };
  const baseUrl = `http://127.0.0.1:${port}`;
  const isReady = async () => (await fetch(`${baseUrl}/readyz`)).ok;
  const ready = () => waitUntil('the service to be ready', 20_000, isReady);
  const listenAgain = () => listenFor(realPort, mysqlPort);
  return { stores, env, baseUrl, log, start, ready, listenAgain };
}

describe('a service that starts while MySQL is away', () => {
  test('sells the vouchers that Redis knows, says so, and records their orders when MySQL is back', async () => {
    const { baseUrl, log, start, ready, listenAgain } = await serviceOnOwnStores();
    const goAway = await listenAgain();
    const first = start();
    await ready();
    const operator = await tokenFor('1', 'operator', deploymentSecret);
    const sale = { method: 'POST', token: operator, body: openSale({ stock: 5 }), baseUrl };
    const { id } = (await (await call('/vouchers', sale)).json()) as { id: string };
    await stopProcess(first);
    goAway();
    start();
    await ready();
    const readiness = await (await fetch(`${baseUrl}/readyz`)).json();
    expect(readiness).toMatchObject({ status: 'degraded', unanswered: ['MySQL'] });
    const token = await tokenFor('7', 'user', deploymentSecret);
    const buy = () => call(`/vouchers/${id}/orders`, { method: 'POST', token, baseUrl });
    const sold = await buy();
    expect(sold.status).toBe(202);
    const unknown = await call('/vouchers/999999999/orders', { method: 'POST', token, baseUrl });
    expect(unknown.status).toBe(503); // Only MySQL knows that there is none.
    expect(log()).toContain('"event":"started-without-mysql"');
    await listenAgain();
    const { id: orderId } = (await sold.json()) as { id: string };
    const isRecorded = async () => {
      const order = await call(`/orders/${orderId}`, { token, baseUrl });
      return ((await order.json()) as { status: string }).status === 'confirmed';
    };
    await waitUntil('the order in MySQL', 30_000, isRecorded);
    await waitUntil('the comparison', 10_000, () => log().includes('"event":"mysql-is-back"'));
    expect((await buy()).status).toBe(409);
  });

  test('ends when the MySQL that comes back belongs to other data', async () => {
    const { stores, log, start, ready, listenAgain } = await serviceOnOwnStores();
    const goAway = await listenAgain();
    const first = start();
    await ready();
    await stopProcess(first);
    goAway();
    const later = start();
    await ready();
    const mysql = testConnections(stores).mysql();
    await mysql.query('UPDATE store_epoch SET value = UUID()');
    await listenAgain();
    await waitUntil('the end of the service', 20_000, () => !isAlive(later));
    expect(log()).toMatch(/"event":"stores-differ","error":"EpochsDiffer: /);
  });
});

test('a service is not started on a MySQL that may lose what it commits, unless that is said', async () => {
  const { start, ready, log, listenAgain, env } = await serviceOnOwnStores();
  await listenAgain();
  await setGlobal('innodb_flush_log_at_trx_commit', 2);
  const refused = start();
  await waitUntil('the end of the service', 20_000, () => !isAlive(refused));
  expect(log()).toContain('MYSQL_LOSES_COMMITS');
  Object.assign(env, { MYSQL_MAY_LOSE_COMMITS: '1' });
  start();
  await ready();
});
