/**
 * The users of a deployment's Redis, as containers/ has them: the service and the commands of an
 * operator do all that they do, and nobody flushes, configures or stops Redis.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { execa } from 'execa';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { migrate } from '../../src/service/connections/schema.ts';
import { deploymentSecret } from '../support/client.ts';
import { ownDatabase } from '../support/own-stores.ts';
import { startOwnRedis } from '../support/servers.ts';
import { deploy } from '../support/service-process.ts';

const usersFile = resolve('containers/lab-redis-users');
const dangerous = [
  ...['FLUSHALL', 'FLUSHDB', 'SHUTDOWN', 'CONFIG SET maxmemory 1', 'KEYS *', 'DEBUG SLEEP 0'],
  ...['REPLICAOF NO ONE', 'MONITOR', 'ACL LIST', 'SWAPDB 0 1', 'MODULE LIST', 'SAVE'],
];

/** DEBUG is not allowed to anybody. */
const refused = /NOPERM|DEBUG command not allowed/;

const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true });
const [, program, ...health]: [string, string, ...string[]] =
  services['redis-main'].healthcheck.test;

async function isHealthy(port: number): Promise<boolean> {
  const { exitCode } = await execa(program, ['-p', String(port), ...health], { reject: false });
  return exitCode === 0;
}

/** A Redis with these users, and a database of its own. */
async function storesWithUsers() {
  const redis = await startOwnRedis({ aclfile: usersFile }, { answers: isHealthy });
  const address = new URL(readFileSync('containers/lab-redis-url', 'utf8').trim());
  const { host } = new URL(redis.url);
  address.host = host;
  const MYSQL_URL = await ownDatabase();
  await migrate(MYSQL_URL);
  const stores = { MYSQL_URL, REDIS_URL: address.href, ORDER_DURABILITY: 'always' };
  return { host, redis, stores };
}

test('a deployment sells, is changed, compared and rebuilt as the user of the service', async () => {
  const { redis, stores } = await storesWithUsers();
  const env = { ...stores, TOKEN_SECRET: deploymentSecret };
  const { onSale, buy, confirmed, place, operate } = await deploy(env);
  const id = await onSale();
  await confirmed((await buy(id, 7)).location, 7);
  const line = await onSale({ passesAtOnce: 1 });
  const { pass = '' } = await place(line, 7);
  expect((await buy(line, 7, { 'purchase-pass': pass })).httpStatus).toBe(202);
  const changed = await operate('PATCH', `/vouchers/${id}`, { stock: 9, paused: true });
  expect(changed.status).toBe(200);
  await redis.kill();
  await redis.start(); // It plays its file, and drops without a word what `default` may not do.
  const command = async (...args: string[]) =>
    (await execa(process.execPath, args, { env, all: true })).all;
  expect(await command('dist/service/bin/reconcile.js')).toContain('consistent');
  expect(await command('dist/service/bin/reconcile.js', '--rebuild')).toContain('rebuilt');
  expect(await command('dist/service/bin/dead-letters.js', 'list')).toContain(
    'There are no dead letters',
  );
  expect(await command('dist/service/bin/ended-sales.js', '--days', '7')).toBeTruthy();
  expect(await command('dist/service/bin/audit.js', id)).toContain('held');
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
