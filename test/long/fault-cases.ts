/** Each fault: what is seen while it lasts, and once it is mended. */
import { connect } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { defaultShape } from '../../src/lab/environment/lab.ts';
import { withRedis } from '../../src/lab/environment/replication.ts';
import { type proxied, proxyPort } from '../../src/lab/environment/servers/proxies.ts';
import type { Fault } from '../../src/lab/faults/fault.ts';
import { type FaultName, faultOn } from '../../src/lab/faults/faults.ts';
import { cutOneByOne, dropForProcess } from '../../src/lab/faults/network.ts';
import { labTokenSecret } from '../../src/service/config.ts';
import { clientOf, putOnSale } from '../support/client.ts';
import { theLab } from '../support/own-lab.ts';

export const lab = theLab({ ...defaultShape, network: 'proxied' });
/** How the lab sees itself: the proxies' ports are behind those of the servers. */
export const proxyOf = (name: (typeof proxied)[number]) =>
  proxyPort({ proxies: lab().portOf('proxies') }, name);

export const key = 'fault-test';
export const silentMs = 400;
/** What a Redis answers, the code of an error, or `silence`; from a new connection. */
export async function answerTo(command: string, port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const answer = new Promise<string>((resolve) => {
    socket.on('data', (data) => resolve(String(data).trim().slice(1)));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
    socket.on('close', () => resolve('closed'));
    setTimeout(() => resolve('silence'), silentMs);
  });
  socket.write(`${command}\r\n`);
  const heard = await answer;
  socket.destroy();
  return heard;
}

export const ping = (port: number) => answerTo('PING', port);
/** `OK` without an error, and the first word of one. */
export const writeTo = async (name: string) =>
  (await answerTo(`SET ${key} ${name}`, lab().portOf(name))).split(' ')[0];

/** The moment in an order id, in milliseconds. */
export const timeOf = (id: string) => Number(BigInt(id) >> 22n) + Date.UTC(2026, 0, 1);

/** At one instance, past nginx. */
const clientAt = (instance: string) =>
  clientOf(`http://127.0.0.1:${lab().portOf(instance)}`, labTokenSecret);
/** @returns the status of a purchase there */
export const buyOn = async (instance: string, voucherId: string, userId: string) =>
  (await clientAt(instance).buy(voucherId, userId)).httpStatus;

export const write = (name: string) =>
  withRedis(lab().portOf(name), (redis) => redis.set(key, name).then(() => {}));
export const keyOf = (name: string) => withRedis(lab().portOf(name), (redis) => redis.get(key));
export const roleAt = async (port: number) => (await withRedis(port, (redis) => redis.role()))[0];
export const pidOf = (name: string) => lab().pidOf(name);
export const livez = (instance: string) =>
  fetch(`http://127.0.0.1:${lab().portOf(instance)}/livez`, {
    signal: AbortSignal.timeout(silentMs),
  }).then(
    ({ status }) => String(status),
    () => 'silence',
  );

afterEach(async () => {
  await lab().heal();
  for (const name of ['redis-main', 'redis-1'])
    await withRedis(lab().portOf(name), (redis) => redis.del(key));
});

export let voucherInMysql = '';
let lastUser = 0;
/** Each purchase is another user's. */
export const buyInMysql = () => buyOn('api-1', voucherInMysql, String(++lastUser));

beforeAll(async () => {
  voucherInMysql = await putOnSale({ rung: 'stock-positive', stock: 1_000 });
  expect(await buyInMysql()).toBe(201);
});

export interface Case {
  readonly fault: () => Fault;
  /** Brings about what the fault then destroys. */
  readonly before?: () => Promise<unknown>;
  readonly seen: () => Promise<unknown>;
  readonly broken: unknown;
  readonly healed: unknown;
}

/** A ping from a new connection is answered otherwise. */
const atServer = (name: string, fault: FaultName, broken: string): Case => ({
  fault: () => faultOn(fault, name),
  ...{ seen: () => ping(lab().portOf(name)), broken, healed: 'PONG' },
});
const atProxy = (fault: () => Fault, broken: string): Case => ({
  ...{ fault, seen: () => ping(proxyOf('redis-2')), broken, healed: 'PONG' },
});
/** What was written before is gone, until it is mended. */
const emptied = (name: string, fault: FaultName): Case => ({
  before: () => write(name),
  ...{ fault: () => faultOn(fault, name), seen: () => keyOf(name), broken: null, healed: name },
});
const written = (name: string, broken: string): Case => ({
  fault: () => faultOn('fill-disk', name),
  ...{ seen: () => writeTo(name), broken, healed: 'OK' },
});
/** MySQL takes no purchase. */
const unsold = (fault: FaultName): Case => ({
  fault: () => faultOn(fault, lab().database),
  ...{ seen: buyInMysql, broken: 503, healed: 201 },
});

export const cases: Record<string, Case> = {
  stop: atServer('redis-1', 'stop', 'ECONNREFUSED'),
  kill: atServer('redis-1', 'kill', 'ECONNREFUSED'),
  pause: atServer('redis-replica', 'pause', 'silence'),
  'restart-empty': emptied('redis-1', 'restart-empty'),
  'flush-all': emptied('redis-main', 'flush-all'),
  slow: atProxy(() => faultOn('slow', 'redis-2', 10 * silentMs), 'silence'),
  delay: atProxy(() => faultOn('delay', 'redis-2', 10 * silentMs), 'silence'),
  drop: atProxy(() => faultOn('drop', 'redis-2'), 'silence'),
  'drop for one process': atProxy(() => dropForProcess('redis-2', process.pid), 'silence'),
  'drop for another process': atProxy(() => dropForProcess('redis-2', pidOf('api-1')), 'PONG'),
  reset: atProxy(() => faultOn('reset', 'redis-2'), 'ECONNRESET'),
  refuse: atProxy(() => faultOn('refuse', 'redis-2'), 'ECONNREFUSED'),
  'hold-replication': {
    fault: () => faultOn('hold-replication', 'redis-main'),
    // Written after the fault, and not seen by the replica before the undo.
    seen: async () => {
      await write('redis-main');
      const has = () => keyOf('redis-replica').then((value) => value !== null);
      await expect
        .poll(has, { timeout: silentMs })
        .toBe(true)
        .catch(() => {});
      return has();
    },
    ...{ broken: false, healed: true },
  },
  'hold-replication of another server than the one before': {
    before: () => write('redis-1'),
    fault: () => faultOn('hold-replication', 'redis-1'),
    seen: () => keyOf('redis-replica'),
    ...{ broken: 'redis-1', healed: null },
  },
  'promote-replica': {
    fault: () => faultOn('promote-replica', 'redis-1'),
    seen: () => roleAt(lab().portOf('redis-replica')),
    ...{ broken: 'master', healed: 'slave' },
  },
  'block-event-loop': {
    fault: () => faultOn('block-event-loop', 'api-1', 10 * silentMs),
    seen: () => livez('api-1'),
    ...{ broken: 'silence', healed: '200' },
  },
  'read-only': unsold('read-only'),
  full: unsold('fill-database'),
  'exhaust-connections': unsold('use-up-connections'),
  'step-clock-back': {
    fault: () => faultOn('step-clock-back', 'api-1', 60_000),
    seen: async () => buyOn('api-1', await putOnSale(), '7'),
    ...{ broken: 503, healed: 202 },
  },
  'step-clock-forward': {
    fault: () => faultOn('step-clock-forward', 'api-1', 60_000),
    seen: async () => {
      const { httpStatus, id = '0' } = await clientAt('api-1').buy(await putOnSale(), 7);
      return { httpStatus, isOfFuture: timeOf(id) > Date.now() + 30_000 };
    },
    broken: { httpStatus: 202, isOfFuture: true },
    healed: { httpStatus: 202, isOfFuture: false },
  },
  'fill-disk of a Redis that syncs every second': written('redis-2', 'MISCONF'),
  'fill-disk': written('redis-main', 'ECONNREFUSED'), // It syncs each write.
  'cut one by one': {
    fault: () => cutOneByOne('database', 0),
    seen: async () => (await lab().network('proxied').spoiled('database')) > 0,
    ...{ broken: true, healed: false },
  },
};

export const healthy = async () => {
  for (const name of ['redis-main', 'redis-1', 'redis-2', 'redis-3'] as const) {
    await expect.poll(() => ping(proxyOf(name))).toBe('PONG');
    expect(await roleAt(proxyOf(name))).toBe('master');
    expect(await roleAt(lab().portOf(name))).toBe('master');
  }
};

export type Way = 'its undo' | 'lab.heal()';

/** It bites, and this mends it. */
export function testMending(way: Way): void {
  describe(`is mended by ${way}`, () => {
    test.each(Object.entries(cases))('%s', async (_, { fault, before, seen, broken, healed }) => {
      await before?.();
      const undo = await fault().inject(lab());
      await expect.poll(seen).toEqual(broken);
      await (way === 'its undo' ? undo() : lab().heal());
      await expect.poll(seen).toEqual(healed);
      await healthy();
    });
  });
}
