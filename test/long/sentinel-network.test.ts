/**
 * The lab's network with Sentinels: they promote the replica, and `lab.heal()` gives redis-main its
 * place back with every write that was answered.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { Connections } from '../../src/connections/connections.ts';
import { withConnections } from '../../src/lab/environment/lab-connections.ts';
import { isCopyOf, roleOf } from '../../src/lab/environment/replication.ts';
import { fieldOfReplica, lookEvery, viewOf } from '../../src/lab/environment/servers/sentinel.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Fault } from '../../src/lab/faults/fault.ts';
import { killServer } from '../../src/lab/faults/processes/kill-server.ts';
import { pauseServer } from '../../src/lab/faults/processes/pause-server.ts';
import { stopServer } from '../../src/lab/faults/processes/stop-server.ts';
import { buy, putOnSale } from '../support/client.ts';
import { quiet } from '../support/connections.ts';
import { theLab } from '../support/the-lab.ts';

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
  await waitUntil('a sale', 10_000, sell);
}

afterEach(async () => {
  await lab().heal();
  await withConnections(lab(), (connections) => connections.redis('admin').del(list));
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
    const buyers = await withConnections(lab(), (connections) =>
      connections.redis('admin').hkeys(key),
    );
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

test('the second replica is promoted when the first is away; heal loses nothing either', async () => {
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
  await withConnections(lab(), (each) => each.redis('admin').lpush(list, 'written'));
  await lab().heal();
  const kept = await withConnections(lab(), (each) => each.redis('admin').lrange(list, 0, -1));
  expect(kept).toEqual(['written']);
  await expectHealed();
});

test('a command of the lab reaches the master, whichever it is', async () => {
  await killServer('redis-main').inject(lab());
  await promoted();
  await withConnections(lab(), (connections) => connections.redis('admin').lpush(list, 'written'));
  await lab().heal();
  const kept = await withConnections(lab(), (each) => each.redis('admin').lrange(list, 0, -1));
  expect(kept).toEqual(['written']);
});

test('heal loses no write that is answered meanwhile', async () => {
  await pauseServer('redis-main').inject(lab());
  await promoted();
  const connections = new Connections(readConfig(lab().environment), quiet);
  const redis = connections.redis('admin');
  await connections.ready();
  const answered: string[] = [];
  let isOver = false;
  const write = async (value: string) => {
    await redis.rpush(list, value);
    answered.push(value);
  };
  const writing = (async () => {
    for (let number = 0; !isOver; number++) {
      await write(String(number)).catch(() => {}); // It may have been added.
      await sleep(1); // A client that is not connected refuses at once.
    }
  })();
  await lab().heal();
  isOver = true;
  await writing;
  await connections.close();
  const kept = await withConnections(lab(), (each) => each.redis('admin').lrange(list, 0, -1));
  expect(answered.length).toBeGreaterThan(0);
  expect(answered.filter((each) => !kept.includes(each))).toEqual([]);
  await expectHealed();
});

test('heal is not held up by writes to redis-main that come as soon as it is the master', async () => {
  await pauseServer('redis-main').inject(lab());
  await promoted();
  // Sentinel cuts the connections to a server that it promotes.
  const retryStrategy = () => 1;
  const redis = new Redis({ port: lab().portOf('redis-main'), retryStrategy });
  redis.on('error', () => {});
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      await redis.rpush(list, 'written').catch(() => {}); // A replica refuses it.
      await sleep(1);
    }
  })();
  await lab().heal();
  isOver = true;
  await writing;
  redis.disconnect();
  await expectHealed();
});
