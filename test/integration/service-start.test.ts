/** The service starts before MySQL, and waits for it; but not without end. */
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { deploymentSecret } from '../support/client.ts';
import { quietRedis } from '../support/connections.ts';
import { someFolder } from '../support/folder.ts';
import { startLoggedService } from '../support/logged-service.ts';
import { ownLab } from '../support/own-lab.ts';
import { ownPorts } from '../support/own-ports.ts';

const entry = new URL('../../dist/bin/service.js', import.meta.url).pathname;

/** The settings of a service whose MySQL is on this port, and the service's own port. */
async function serviceWith(mysqlPort: number, changes: Readonly<Record<string, string>> = {}) {
  const url = new URL(ownLab.environment['MYSQL_URL'] ?? '');
  const realPort = Number(url.port);
  url.port = String(mysqlPort);
  const port = await ownPorts(19_910);
  const stores = { MYSQL_URL: url.href, REDIS_URL: quietRedis(), TOKEN_SECRET: deploymentSecret };
  const numbers = { PORT: String(port), INSTANCES: '1', ORDER_WORKERS: '1' };
  const settings = { ...numbers, ORDER_DURABILITY: 'everysec' };
  return { realPort, port, env: { ...stores, ...settings, ...changes } };
}

/** MySQL listens here from now on. */
async function listenFor(realPort: number, port: number): Promise<void> {
  const server = createServer((client) => {
    const mysql = connect(realPort, '127.0.0.1');
    for (const end of [client, mysql]) {
      end.on('error', () => {});
      end.on('close', () => [client, mysql].forEach((each) => void each.destroy()));
    }
    client.pipe(mysql).pipe(client);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
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
  const { env } = await serviceWith(await ownPorts(19_950), { START_WAIT_MS: '800' });
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
