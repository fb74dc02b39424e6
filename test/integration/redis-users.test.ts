/**
 * The users of a deployment's Redis, as containers/ has them: the service and the commands of an
 * operator do all that they do, and nobody flushes, configures or stops Redis.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { execa } from 'execa';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../src/connections/schema.ts';
import { isAlive } from '../../src/lab/environment/process-table.ts';
import { startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { redisServer } from '../../src/lab/environment/servers/redis.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { call, deploymentSecret, openSale, tokenFor } from '../support/client.ts';
import { someFolder } from '../support/folder.ts';
import { startLoggedService } from '../support/logged-service.ts';
import { ownDatabase } from '../support/own-database.ts';
import { ownPorts } from '../support/own-ports.ts';

const usersFile = resolve('containers/lab-redis-users');
const dangerous = [
  ...['FLUSHALL', 'FLUSHDB', 'SHUTDOWN', 'CONFIG SET maxmemory 1', 'KEYS *', 'DEBUG SLEEP 0'],
  ...['REPLICAOF NO ONE', 'MONITOR', 'ACL LIST', 'SWAPDB 0 1', 'MODULE LIST', 'SAVE'],
];

/** DEBUG is not allowed to anybody. */
const refused = /NOPERM|DEBUG command not allowed/;

/** Its health check is that of docker-compose.yml. */
async function redisWithUsers() {
  const port = await ownPorts(19_300);
  const server = redisServer('own', someFolder(), port, 'always', { aclfile: usersFile });
  await server.prepare?.();
  const start = () => startProcess(server.program());
  const health = ['-e', '--no-auth-warning', '--user', 'health', '--pass', 'any', 'ping'];
  const isHealthy = () =>
    waitUntil('a Redis with users', 10_000, async () => {
      const ping = await execa('redis-cli', ['-p', String(port), ...health], { reject: false });
      return ping.exitCode === 0;
    });
  let running = start();
  onTestFinished(() => stopProcess(running));
  await isHealthy();
  const restart = async () => {
    const killed = running;
    process.kill(killed.pid, 'SIGKILL');
    await waitUntil('Redis to end', 5_000, () => !isAlive(killed));
    running = start();
    await isHealthy();
  };
  return { host: `127.0.0.1:${port}`, restart };
}

/** A Redis with these users, and a database of its own. */
async function storesWithUsers() {
  const { host, restart } = await redisWithUsers();
  const address = new URL(readFileSync('containers/lab-redis-url', 'utf8').trim());
  address.host = host;
  const MYSQL_URL = await ownDatabase();
  await migrate(MYSQL_URL);
  const stores = { MYSQL_URL, REDIS_URL: address.href, ORDER_DURABILITY: 'always' };
  return { host, restart, stores };
}

test('a deployment sells, is changed, compared and rebuilt as the user of the service', async () => {
  const { restart, stores } = await storesWithUsers();
  const { port } = await startLoggedService({ ...stores, INSTANCES: '1' });
  const baseUrl = `http://127.0.0.1:${port}`;
  const isReady = async () => (await fetch(`${baseUrl}/readyz`).catch(() => null))?.ok === true;
  await waitUntil('the service to be ready', 20_000, isReady);
  const token = await tokenFor('1', 'operator', deploymentSecret);
  const as = (method: string, path: string, body: object) =>
    call(path, { method, token, body, baseUrl });
  const { id } = (await (await as('POST', '/vouchers', openSale())).json()) as { id: string };
  const buyer = await tokenFor('7', 'user', deploymentSecret);
  const bought = await call(`/vouchers/${id}/orders`, { method: 'POST', token: buyer, baseUrl });
  const path = bought.headers.get('location') ?? '';
  const state = async () => (await call(path, { token: buyer, baseUrl })).json();
  await waitUntil('the order to be recorded', 20_000, async () => {
    return ((await state()) as { status: string }).status === 'confirmed';
  });
  expect((await as('PATCH', `/vouchers/${id}`, { stock: 9, paused: true })).status).toBe(200);
  await restart(); // It plays its file: what its user may not do is dropped, without a word.
  const env = { ...stores, TOKEN_SECRET: deploymentSecret, PATH: process.env['PATH'] ?? '' };
  const command = async (...args: string[]) =>
    (await execa(process.execPath, args, { env, extendEnv: false, all: true })).all;
  expect(await command('dist/bin/reconcile.js')).toContain('consistent');
  expect(await command('dist/bin/reconcile.js', '--rebuild')).toContain('rebuilt');
  expect(await command('dist/bin/dead-letters.js', 'list')).toContain('There are no dead letters');
  expect(await command('dist/bin/ended-sales.js', '--days', '7')).toBeTruthy();
  expect(await command('dist/bin/audit.js', id)).toContain('held');
});

test('neither the service nor a stranger flushes, configures or stops this Redis', async () => {
  const { host, stores } = await storesWithUsers();
  const service = new Redis(stores.REDIS_URL);
  const stranger = new Redis(`redis://health:any@${host}`, { enableReadyCheck: false });
  const nobody = new Redis(`redis://${host}`, { enableReadyCheck: false });
  nobody.on('error', () => {}); // Its first command is refused.
  onTestFinished(() => [service, stranger, nobody].forEach((client) => void client.disconnect()));
  const refusal = (client: Redis, line: string) => {
    const [command = '', ...args] = line.split(' ');
    return client.call(command, ...args).then(String, (error: unknown) => String(error));
  };
  for (const line of dangerous)
    expect([line, await refusal(service, line)]).toEqual([line, expect.stringMatching(refused)]);
  for (const line of [...dangerous, 'GET a', 'XADD {sale:0}:orders * a b', 'PUBLISH a b'])
    expect([line, await refusal(stranger, line)]).toEqual([line, expect.stringMatching(refused)]);
  expect(await stranger.ping()).toBe('PONG');
  expect(await refusal(nobody, 'PING')).toMatch(/NOAUTH/);
});
