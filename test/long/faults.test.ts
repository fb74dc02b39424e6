/** Each fault that a drill can inject bites, and its undo mends it; faults together; and more. */
import { once } from 'node:events';
import { connect } from 'node:net';
import mysql from 'mysql2/promise';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { defaultShape } from '../../src/lab/environment/lab.ts';
import { LabNetwork } from '../../src/lab/environment/lab-network.ts';
import { childrenOf, type ProcessRef } from '../../src/lab/environment/process-table.ts';
import { hasAllOf, withRedis } from '../../src/lab/environment/replication.ts';
import { processNames } from '../../src/lab/environment/servers/service.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { exhaustConnections, killOpenTransaction } from '../../src/lab/faults/database.ts';
import type { Undo } from '../../src/lab/faults/fault.ts';
import { faultOn, verbs } from '../../src/lab/faults/faults.ts';
import {
  cutOneByOne,
  dropConnections,
  expireSession,
  zookeeperSessions,
} from '../../src/lab/faults/network.ts';
import {
  killWorkersOfNginx,
  reloadNginx,
  restartServer,
  steppedClock,
  stopWorkers,
} from '../../src/lab/faults/process.ts';
import { flushAll, flushScripts, fullDisk, promoteReplica } from '../../src/lab/faults/redis.ts';
import { buy, call, putOnSale, tokenFor } from '../support/client.ts';
import {
  buyInMysql,
  buyOn,
  cases,
  healthy,
  key,
  keyOf,
  lab,
  pidOf,
  ping,
  proxyOf,
  roleAt,
  testMending,
  voucherInMysql,
  write,
  writeTo,
} from './fault-cases.ts';

testMending('its undo');
testMending('lab.heal()');

describe('faults together', () => {
  test('heal mends the network before it starts the service, which is not ready without', async () => {
    await dropConnections('redis-main').inject(lab());
    await lab().server('service').kill();
    await lab().heal();
    await healthy();
  });

  test('heal gives flushed keys back to a master that was replaced, and changes nothing twice', async () => {
    await write('redis-1');
    await flushAll('redis-1').inject(lab());
    await promoteReplica('redis-1').inject(lab());
    await lab().heal();
    const healed = lab().servers;
    await lab().heal();
    expect(await keyOf('redis-1')).toBe('redis-1');
    expect(lab().servers).toEqual(healed);
    await healthy();
  });

  test('a lab that stops gives the writes of a replica to the master that it replaced', async () => {
    await promoteReplica('redis-main').inject(lab());
    await withRedis(proxyOf('redis-main'), (redis) => redis.set(key, 'sold meanwhile'));
    await lab().restoreMasters();
    await lab().server('redis-main').kill();
    await lab().server('redis-main').start();
    expect(await keyOf('redis-main')).toBe('sold meanwhile');
    await lab().serve(lab().shape);
    await healthy();
  });

  test('another network begins with whole servers, also after its proxies were killed', async () => {
    await promoteReplica('redis-2').inject(lab());
    await lab().server('proxies').kill();
    await lab().server('service').kill(); // Without its stores it ends, but slowly.
    await lab().ensure(defaultShape);
    expect(await roleAt(lab().portOf('redis-2'))).toBe('master');
    await lab().ensure({ ...defaultShape, network: 'proxied' });
    await healthy();
  });
});

test('a client that is logging in gets no connection after all are used up', async () => {
  const client = connect(lab().portOf(lab().database), '127.0.0.1');
  client.on('error', () => {}); // The database ends it.
  await once(client, 'data'); // The database has said hello, and counts this client.
  await exhaustConnections(lab().database).inject(lab());
  // By itself, the database ends it after ten seconds.
  await expect.poll(() => client.closed, { timeout: 6_000 }).toBe(true);
  const next = mysql.createConnection({ uri: lab().environment['MYSQL_URL'] ?? '' });
  await expect(next).rejects.toMatchObject({ errno: 1040 });
});

describe('fill-disk', () => {
  test('the lab runs on without the Redis that ended', async () => {
    await fullDisk('redis-main').inject(lab());
    await expect.poll(() => writeTo('redis-main')).toBe('ECONNREFUSED');
    expect(lab().isRunning()).toBe(true);
  });

  test('its undo resolves when a Redis writes again, and the lab misses that Redis if it ends', async () => {
    const undo = await fullDisk('redis-2').inject(lab());
    await expect.poll(() => writeTo('redis-2')).toBe('MISCONF');
    await undo();
    expect(await writeTo('redis-2')).toBe('OK');
    process.kill(pidOf('redis-2'), 'SIGKILL');
    await expect.poll(() => lab().isRunning()).toBe(false);
  });

  test('a Redis that does not run is refused', async () => {
    await lab().server('redis-2').kill();
    const filled = fullDisk('redis-2').inject(lab());
    await expect(filled).rejects.toMatchObject({ code: 'SERVER_DOWN' });
  });
});

describe('step-clock-forward', () => {
  test('its undo replaces the instance, and resolves when the new one answers', async () => {
    const before = pidOf('api-1');
    const undo = await steppedClock('api-1', 60_000).inject(lab());
    await undo();
    expect(pidOf('api-1')).not.toBe(before);
    expect(await buyOn('api-1', await putOnSale(), '7')).toBe(202);
  });

  test('heal replaces it too when its clock was set back meanwhile', async () => {
    const before = pidOf('api-1');
    await steppedClock('api-1', 60_000).inject(lab());
    await steppedClock('api-1', -1_000).inject(lab());
    await lab().heal();
    expect(pidOf('api-1')).not.toBe(before);
  });
});

test('restart: another process has the data of the one before', async () => {
  await write('redis-1');
  const before = pidOf('redis-1');
  await restartServer('redis-1').inject(lab());
  expect(pidOf('redis-1')).not.toBe(before);
  expect(await keyOf('redis-1')).toBe('redis-1');
});

test('a replica of redis-main does not have all of redis-1, although its offset is larger', async () => {
  const replica = lab().portOf('redis-replica');
  const longText = 'x'.repeat(1_000_000);
  await withRedis(lab().portOf('redis-main'), (redis) => redis.set(key, longText));
  await expect.poll(() => hasAllOf(replica, lab().portOf('redis-main'))).toBe(true);
  expect(await hasAllOf(replica, lab().portOf('redis-1'))).toBe(false);
});

test('flush-scripts: the Redis has forgotten a script, and no key', async () => {
  const known = (sha: string) =>
    withRedis(lab().portOf('redis-1'), async (redis) => {
      const [isKnown] = (await redis.script('EXISTS', sha)) as number[];
      return isKnown;
    });
  await write('redis-1');
  const sha = await withRedis(lab().portOf('redis-1'), (redis) => redis.script('LOAD', 'return 1'));
  expect(await known(String(sha))).toBe(1);
  await flushScripts('redis-1').inject(lab());
  expect(await known(String(sha))).toBe(0);
  expect(await keyOf('redis-1')).toBe('redis-1');
});

test('kill-session: an open transaction is lost, its connection too, and the next purchase sells', async () => {
  const url = lab().environment['MYSQL_URL'] ?? '';
  const connection = await mysql.createConnection({ uri: url });
  const lost = new Promise((resolve) => connection.on('error', resolve));
  await connection.beginTransaction();
  const stock = 'UPDATE seckill_stock SET stock = 0 WHERE voucher_id = ?';
  await connection.query(stock, [voucherInMysql]);
  await killOpenTransaction(lab().database).inject(lab());
  await lost;
  expect(await buyInMysql()).toBe(201);
  const none = killOpenTransaction(lab().database).inject(lab());
  await expect(none).rejects.toThrow('an open transaction');
});

test('kill-session: a purchase in the middle of its transaction is refused as not-ready', async () => {
  const sale = { rung: 'unit-rows', stock: 10, lab: { workMs: 3_000, retries: 0 } };
  const voucher = await putOnSale(sale);
  const purchase = buyOn('api-1', voucher, '7');
  await killOpenTransaction(lab().database).inject(lab());
  expect(await purchase).toBe(503);
  expect(await buyOn('api-1', voucher, '7')).toBe(201);
});

test('expire-session: ZooKeeper forgets the session of this process only', async () => {
  const voucher = await putOnSale({ rung: 'zookeeper' });
  for (const instance of ['api-1', 'api-2']) await buyOn(instance, voucher, instance.slice(-1));
  const before = await zookeeperSessions(lab().portOf('zookeeper'));
  const expired = expireSession('redis-1').inject(lab());
  await expect(expired).rejects.toMatchObject({ code: 'NO_SESSION' });
  await expireSession('api-1').inject(lab());
  const after = await zookeeperSessions(lab().portOf('zookeeper'));
  expect(before.filter((session) => !after.includes(session))).toHaveLength(1);
  const buyAgain = () => buyOn('api-1', voucher, '3');
  await expect.poll(buyAgain).not.toBe(503);
});

test('lose-answers: a write is done, and its answer is lost until the undo', async () => {
  await withRedis(lab().portOf('redis-2'), (redis) => redis.del(key));
  const undo = await faultOn('lose-answers', 'redis-2').inject(lab());
  const socket = connect(proxyOf('redis-2')).on('error', () => {});
  const heard: Buffer[] = [];
  socket.on('data', (data: Buffer) => heard.push(data));
  socket.write(`SET ${key} written\r\n`);
  await expect.poll(() => keyOf('redis-2')).toBe('written');
  expect(heard).toEqual([]);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  await undo();
  await closed;
  expect(await ping(proxyOf('redis-2'))).toBe('PONG');
  await withRedis(lab().portOf('redis-2'), (redis) => redis.del(key));
});

/** Users buy all the time, each on a connection of its own. @returns what ends it. */
async function buyAllTheWhile(clients: number) {
  const voucher = await putOnSale({ stock: 100_000 });
  const answers: string[] = [];
  let isOver = false;
  const attempt = (user: number) =>
    buy(voucher, String(user), { connection: 'close' }).then(
      ({ httpStatus }) => String(httpStatus),
      (error: Error) => String(error.cause ?? error),
    );
  const client = async (first: number) => {
    for (let user = first; !isOver; user += clients) answers.push(await attempt(user));
  };
  const buying = Promise.all(Array.from({ length: clients }, (_, index) => client(index + 1)));
  const end = async () => {
    isOver = true;
    await buying;
  };
  onTestFinished(end);
  return { answers, end };
}

test('reload-nginx: other worker processes answer, and no request is lost', async () => {
  const { answers, end } = await buyAllTheWhile(8);
  const someMore = (from: number) => expect.poll(() => answers.length).toBeGreaterThan(from + 20);
  await someMore(0);
  const master = pidOf('nginx');
  const before = childrenOf(master);
  const answered = answers.length;
  await reloadNginx.inject(lab());
  const isOld = ({ pid }: ProcessRef) => before.some((each) => each.pid === pid);
  const workers = () => childrenOf(pidOf('nginx'));
  await expect.poll(() => workers().some(isOld)).toBe(false);
  await someMore(answered);
  await someMore(answers.length);
  await end();
  expect(new Set(answers)).toEqual(new Set(['202']));
  expect(pidOf('nginx')).toBe(master);
});

test('kill-workers-of-nginx: requests are cut off, and other worker processes answer', async () => {
  const { answers, end } = await buyAllTheWhile(8);
  const isSold = (answer: string) => answer === '202';
  await expect.poll(() => answers.filter(isSold).length).toBeGreaterThan(20);
  const master = pidOf('nginx');
  const before = childrenOf(master);
  const isCutOff = async () => {
    await killWorkersOfNginx.inject(lab());
    return answers.some((answer) => !isSold(answer));
  };
  // At one moment, every answer may be on its way already.
  await waitUntil('a request to be cut off', 20_000, isCutOff, 100);
  const sold = answers.filter(isSold).length;
  await expect.poll(() => answers.filter(isSold).length).toBeGreaterThan(sold + 20);
  await end();
  const isOld = ({ pid }: ProcessRef) => before.some((each) => each.pid === pid);
  expect(childrenOf(master).filter(isOld)).toEqual([]);
  expect(pidOf('nginx')).toBe(master);
});

test('cut-one-by-one: one process after the other is cut off, and comes back in another order', async () => {
  const spoil = vi.spyOn(LabNetwork.prototype, 'spoil');
  onTestFinished(() => spoil.mockRestore());
  const pauseMs = 200;
  const tookMs = async (work: () => Promise<unknown>) => {
    const started = performance.now();
    await work();
    return performance.now() - started;
  };
  let undo: Undo = async () => {};
  const cutting = async () => {
    undo = await cutOneByOne('redis-main', pauseMs).inject(lab());
  };
  expect(await tookMs(cutting)).toBeGreaterThan(3 * (pauseMs - 1));
  expect(spoil).toHaveBeenCalledTimes(3); // The others are cut off while requests go on.
  expect(await tookMs(undo)).toBeGreaterThan((2 + 5) * (pauseMs - 1));
  const seen = spoil.mock.calls.map(([, ...toxics]) => toxics.map(({ pid }) => pid));
  expect(seen.map(({ length }) => length)).toEqual([1, 2, 3, 4, 5, 4, 3, 2, 1, 0]);
  const [cut = [], ...fewer] = seen.slice(4);
  const back = fewer.map((left, times) =>
    (fewer[times - 1] ?? cut).find((pid) => !left.includes(pid)),
  );
  expect(new Set(cut)).toEqual(new Set(processNames(lab().shape).map(pidOf)));
  expect(new Set(back)).toEqual(new Set(cut));
  expect(back).not.toEqual(cut);
  expect(back).not.toEqual(cut.toReversed());
});

test.each([1, 2, 3, 4])(
  'cut-one-by-one: with seed %d too, the injection cuts off those that it is given',
  async (seed) => {
    const spoil = vi.spyOn(LabNetwork.prototype, 'spoil');
    onTestFinished(() => spoil.mockRestore());
    const first = ['api-worker-1', 'api-1'].map(pidOf);
    const undo = await cutOneByOne('redis-main', 0, seed, first).inject(lab());
    const cut = spoil.mock.lastCall?.slice(1).map((toxic) => (toxic as { pid: number }).pid);
    await undo();
    expect(cut).toEqual(expect.arrayContaining(first));
    expect(cut).toHaveLength(3);
  },
);

test('stop-workers: a new worker waits, and the accepted orders with it, until the undo', async () => {
  /** A worker that waits asks the Redis of the lab again and again. */
  const asked = () =>
    withRedis(lab().portOf('redis-lab'), async (redis) => {
      const calls = /cmdstat_exists:calls=(\d+)/.exec(await redis.info('commandstats'));
      return Number(calls?.[1] ?? 0);
    });
  const undo = await stopWorkers.inject(lab());
  const before = await asked();
  const { id } = await buy(await putOnSale(), '7');
  const token = await tokenFor('7');
  const status = async () =>
    ((await (await call(`/orders/${id}`, { token })).json()) as { status: string }).status;
  await expect.poll(asked).toBeGreaterThan(before + 10);
  expect(await status()).toBe('queued');
  await undo();
  await expect.poll(status).toBe('confirmed');
});

test('every verb of the command line is tried here', () => {
  const tried = [...Object.keys(cases), 'restart', 'flush-scripts', 'expire-session'];
  expect(tried).toEqual(expect.arrayContaining([...verbs]));
});
