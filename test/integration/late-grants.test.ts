/**
 * A request for a lock may be granted after its caller has given up: Redis hung, or the connection
 * broke. Nobody holds such a lock, so it must not stay until its lease ends.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { withRedis } from '../../src/lab/environment/replication.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import type { Lock } from '../../src/service/locks/lock.ts';
import { held, openLock } from '../support/locks.ts';
import { startOwnRedises } from '../support/servers.ts';
import { proxyBefore } from '../support/test-proxy.ts';

/** How many servers each lock has, and how many of them hang. */
const locks: readonly (readonly [lock: RungName, servers: number, hung: number])[] = [
  ['redis-owner', 1, 1],
  ['redis-atomic', 1, 1],
  ['redis-message', 1, 1],
  ['redis-reentrant', 1, 1],
  ['redis-reentrant-lease', 1, 1],
  ['redis-spin', 1, 1],
  ['redis-fair', 1, 1],
  ['multilock', 3, 1],
  ['redlock', 3, 2],
];
/** The lease would hide it. */
const longLeases = { LOCK_LEASE_MS: '120000', LOCK_WATCHDOG_MS: '120000' };
const hangMs = 3_000;
const userEveryMs = 25;

interface Answers {
  granted: number;
  failed: number;
}

async function openOver(name: RungName, urls: readonly string[]) {
  const main = urls[0] ?? '';
  const stores = { REDIS_URL: main, REDLOCK_URLS: urls.join(','), ORDER_DURABILITY: 'everysec' };
  const { lock, connections } = await openLock(name, { ...stores, ...longLeases });
  const clients = [connections.redis('lock'), ...connections.redlockMasters()];
  const answer = async () => {
    if (!clients.every(({ status }) => status === 'ready')) return false;
    await Promise.all(clients.map((redis) => redis.ping())); // After all that a client sends first.
    return true;
  };
  await waitUntil('the clients of the lock', 20_000, answer);
  return { lock, clients };
}

/** Forty users a second, each with a lock of their own, until `stop`; the answers so far. */
function startUsers(lock: Lock) {
  const answers: Answers = { granted: 0, failed: 0 };
  const users: Promise<void>[] = [];
  const buy = async (user: string) => {
    const lease = await lock.acquire(user, { waitMs: 2_000 });
    if (lease) answers.granted += 1;
    await sleep(5);
    await lease?.release();
  };
  const timer = setInterval(() => {
    const buying = buy(`user-${users.length}`);
    const counted = buying.catch(() => {
      answers.failed += 1;
    });
    users.push(counted);
  }, userEveryMs);
  const stop = async (): Promise<Answers> => {
    clearInterval(timer);
    await Promise.all(users);
    return answers;
  };
  return { answers, stop };
}

const urlsOf = (servers: readonly { readonly url: string }[]) => servers.map(({ url }) => url);

/** Locks, and places in the line of a fair one. */
async function leftOn(server: OwnRedis): Promise<string[]> {
  const keys = await withRedis(server.port, (redis) => redis.keys('*'));
  return keys.filter((key) => /^lock:|^redisson_lock_(queue|timeout):/.test(key));
}

const left = async (servers: readonly OwnRedis[]) =>
  (await Promise.all(servers.map(leftOn))).flat();

/** @returns what is left twenty seconds after the hang. */
async function hangAndLook(
  name: RungName,
  servers: readonly OwnRedis[],
  hung: number,
): Promise<string[]> {
  const { lock } = await openOver(name, urlsOf(servers));
  const { answers, stop } = startUsers(lock);
  await waitUntil('connections that are in use', 20_000, async () => answers.granted > 10);
  await Promise.all(servers.slice(0, hung).map((server) => server.pause()));
  await sleep(hangMs);
  await Promise.all(servers.map((server) => server.resume()));
  const { failed } = await stop();
  expect(failed, `${name}: failed in the hang`).toBeGreaterThan(0);
  const isFree = async () => (await left(servers)).length === 0;
  await waitUntil('every lock to be free', 20_000, isFree).catch(() => {});
  return left(servers);
}

/** How many releases the server has run, with the requests that are scripts too. */
async function scriptsOn(server: OwnRedis): Promise<number> {
  const stats = await withRedis(server.port, (redis) => redis.info('commandstats'));
  const calls = [...stats.matchAll(/^cmdstat_(?:eval|evalsha|get):calls=(\d+)/gm)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}

/**
 * @param closes the client closes its connection as soon as the request is sent
 * @returns what is left once a request has reached its server after its release.
 */
async function releaseFirst(
  name: RungName,
  servers: readonly OwnRedis[],
  hung: number,
  closes = false,
): Promise<string[]> {
  const proxies = await Promise.all(urlsOf(servers).map((url) => proxyBefore(url)));
  const { lock: other } = await openOver(name, urlsOf(servers));
  await (await held(other, 'before')).release(); // The scripts are loaded.
  const { lock, clients } = await openOver(name, urlsOf(proxies)); // It has asked nothing yet.
  const silent = servers.slice(0, hung);
  const before = await Promise.all(silent.map(scriptsOn));
  for (const proxy of proxies.slice(0, hung)) proxy.freeze();
  const asking = lock.acquire('late', { waitMs: 0 });
  asking.catch(() => {}); // It is awaited below.
  await new Promise((resolve) => setImmediate(resolve)); // By then it is sent.
  if (closes) for (const redis of clients.slice(0, hung + 1)) redis.disconnect(true);
  await expect(asking, name).rejects.toThrow();
  const isReleased = async () => {
    const now = await Promise.all(silent.map(scriptsOn));
    return now.every((count, place) => count > (before[place] ?? 0));
  };
  await waitUntil(`the release of ${name}`, 20_000, isReleased);
  for (const proxy of proxies) await proxy.thaw();
  return left(servers);
}

type Look = (name: RungName, servers: readonly OwnRedis[], hung: number) => Promise<string[]>;

/** All locks at the same time. @returns what is left of each */
async function ofEachLock(look: Look): Promise<Record<string, string[]>> {
  const all = await startOwnRedises(locks.reduce((sum, [, count]) => sum + count, 0));
  const looks = locks.map(async ([name, count, hung]) => {
    return [name, await look(name, all.splice(0, count), hung)] as const;
  });
  return Object.fromEntries(await Promise.all(looks));
}

const nothing = Object.fromEntries(locks.map(([name]) => [name, []]));

test('after a hang of Redis under load, no lock stays that nobody holds', async () => {
  expect(await ofEachLock(hangAndLook)).toEqual(nothing);
});

test('a request that reaches Redis after its release takes no effect', async () => {
  expect(await ofEachLock(releaseFirst)).toEqual(nothing);
});

test('so does one of redlock whose connections were closed before the release', async () => {
  expect(await releaseFirst('redlock', await startOwnRedises(3), 2, true)).toEqual([]);
});
