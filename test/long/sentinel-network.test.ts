/**
 * The lab's network with Sentinels: they promote the replica, and `lab.heal()` gives redis-main its
 * place back with every write that was answered.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { withConnections } from '../../src/lab/environment/lab-connections.ts';
import { isCopyOf, roleOf } from '../../src/lab/environment/replication.ts';
import { fieldOfReplica, lookEvery, viewOf } from '../../src/lab/environment/sentinels.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Fault } from '../../src/lab/faults/fault.ts';
import { killServer, pauseServer, stopServer } from '../../src/lab/faults/process.ts';
import { readConfig } from '../../src/service/config.ts';
import { Connections } from '../../src/service/connections/connections.ts';
import { buy, putOnSale } from '../support/client.ts';
import { quiet } from '../support/connections.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab({ instances: 2, balancer: 'nginx', network: 'sentinel' });

const list = 'sentinel-network-test';
const roles = () =>
  Promise.all(
    ['redis-main', 'redis-replica', 'redis-replica-2'].map((name) => roleOf(lab().portOf(name))),
  );
const network = () => lab().network('sentinel');
const sentinels = ['sentinel-1', 'sentinel-2', 'sentinel-3'];
const masterPorts = async () => {
  const views = await Promise.all(sentinels.map((name) => viewOf(lab().portOf(name))));
  return [...new Set(views.map(({ port }) => port))];
};

async function promoted(): Promise<void> {
  await waitUntil('a promotion', 20_000, () => network().isMaster('redis-replica'));
}

async function expectHealed(): Promise<void> {
  expect(await roles()).toEqual(['master', 'slave', 'slave']);
  expect(await masterPorts()).toEqual([lab().portOf('redis-main')]);
  for (const name of ['redis-replica', 'redis-replica-2'])
    expect(await isCopyOf(lab().portOf(name), lab().portOf('redis-main'))).toBe(true);
}

/** Until it is accepted: the service needs a moment to follow the master. */
async function oneMoreSale(voucherId: string, user: string): Promise<void> {
  const sell = async () => [202, 409].includes((await buy(voucherId, user)).httpStatus);
  await waitUntil('a sale', 20_000, sell);
}

/** Of the lab's own connections, to the master, whichever it is. */
const onMaster = <T>(work: (redis: Redis) => Promise<T>): Promise<T> =>
  withConnections(lab(), (connections) => work(connections.redis('admin')));
const written = () => onMaster((redis) => redis.lrange(list, 0, -1));

afterEach(async () => {
  await lab().heal();
  await onMaster((redis) => redis.del(list));
});

describe.each([
  ['stopped', stopServer],
  ['killed', killServer],
  ['paused', pauseServer],
] as const)('redis-main is %s', (_, faultOf: (name: string) => Fault) => {
  test('its replica is promoted, and sells; heal gives redis-main its place back', async () => {
    const voucherId = await putOnSale();
    await oneMoreSale(voucherId, '1');
    await network().level('redis-main'); // Replication does not wait: a killed master may lose it.
    await faultOf('redis-main').inject(lab());
    await promoted();
    await oneMoreSale(voucherId, '2');
    await lab().heal();
    await expectHealed();
    await oneMoreSale(voucherId, '3');
    const key = `{sale:0}:buyers:${voucherId}`;
    const buyers = await onMaster((redis) => redis.hkeys(key));
    expect(buyers.sort()).toEqual(['1', '2', '3']);
  });
});

test('an old master that comes back follows the new one', async () => {
  const undo = await pauseServer('redis-main').inject(lab());
  await promoted();
  await undo();
  // They correct it when they look, by themselves every ten seconds. The heal sets this again.
  await Promise.all(sentinels.map((name) => lookEvery(lab().portOf(name), 200)));
  await waitUntil('redis-main to follow', 20_000, () => network().follows('redis-main'));
  expect(await network().isMaster('redis-replica')).toBe(true);
});

test('the second replica is promoted when the first is away: the lab reaches it, and heal loses nothing', async () => {
  await pauseServer('redis-replica').inject(lab());
  const away = lab().portOf('redis-replica');
  // One that does not know it yet may choose this replica, and then waits for it.
  await waitUntil('the Sentinels to miss it', 20_000, async () => {
    const ports = sentinels.map((name) => lab().portOf(name));
    const seen = await Promise.all(ports.map((port) => fieldOfReplica(port, away, 'flags')));
    return seen.every((flags) => flags.includes('s_down'));
  });
  await killServer('redis-main').inject(lab());
  const second = () => roleOf(lab().portOf('redis-replica-2'));
  await waitUntil('a promotion', 20_000, async () => (await second()) === 'master');
  await onMaster((redis) => redis.lpush(list, 'written'));
  await lab().heal();
  expect(await written()).toEqual(['written']);
  await expectHealed();
});

/** Writes again and again: a replica refuses, and a client that is not connected too. */
function keepWriting(write: (number: number) => Promise<unknown>): () => Promise<void> {
  let isOver = false;
  const writing = (async () => {
    for (let number = 0; !isOver; number++) {
      await write(number).catch(() => {});
      await sleep(1);
    }
  })();
  return () => {
    isOver = true;
    return writing;
  };
}

/** Sentinel cuts the connections to a server that it promotes: it is back within a millisecond. */
function eagerClient(): Redis {
  const redis = new Redis({ port: lab().portOf('redis-main'), retryStrategy: () => 1 });
  redis.on('error', () => {});
  onTestFinished(() => redis.disconnect());
  return redis;
}

test('heal loses no answered write, and is not held up by writes to redis-main as soon as it is the master', async () => {
  await pauseServer('redis-main').inject(lab());
  await promoted();
  const connections = new Connections(readConfig(lab().environment), quiet);
  const redis = connections.redis('admin');
  await connections.ready();
  const answered: string[] = [];
  const stop = keepWriting(async (number) => {
    await redis.rpush(list, String(number)); // Without an answer, it may have been added.
    answered.push(String(number));
  });
  const eager = eagerClient();
  const stopEager = keepWriting(() => eager.rpush(list, 'eager'));
  await lab().heal();
  await Promise.all([stop(), stopEager()]);
  await connections.close();
  const kept = await written();
  expect(kept).toContain('eager');
  expect(answered.length).toBeGreaterThan(0);
  expect(answered.filter((each) => !kept.includes(each))).toEqual([]);
  await expectHealed();
});
