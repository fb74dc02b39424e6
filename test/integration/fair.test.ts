/** What the contract cannot say of the fair lock: the order of its line, and what becomes of those who leave it. */
import type { Redis } from 'ioredis';
import { beforeEach, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/waiting.ts';
import type { Lease, Lock } from '../../src/locks/lock.ts';
import { open } from '../../src/locks/redis-fair.ts';
import { quietRedis, testConnections } from '../support/connections.ts';
import { someVoucherId } from '../support/sale.ts';

let resource: string;
let redis: Redis;

beforeEach(async () => {
  resource = `test:${someVoucherId()}`;
  redis = testConnections({ REDIS_URL: quietRedis() }).redis('admin');
});

/** Each in a client of its own, as in processes of their own. */
async function openLocks(count: number): Promise<Lock[]> {
  const opened = Array.from({ length: count }, () => testConnections({ REDIS_URL: quietRedis() }));
  const locks = opened.map(open);
  await Promise.all(opened.map((connections) => connections.ready()));
  return locks;
}

const inLine = () => redis.llen(`redisson_lock_queue:{lock:${resource}}`);
const untilInLine = (count: number) =>
  waitUntil(`${count} in line`, 5_000, async () => (await inLine()) === count);

async function held(lock: Lock | undefined): Promise<Lease> {
  const lease = await lock?.acquire(resource, { waitMs: 20_000 });
  if (!lease) throw new Error('not in time');
  return lease;
}

test('the lock goes to those who wait in the order in which they came', async () => {
  const [first, ...others] = await openLocks(6);
  const lease = await held(first);
  const order: number[] = [];
  const turns: Promise<void>[] = [];
  for (const [index, lock] of others.entries()) {
    turns.push(
      held(lock).then(async (own) => {
        order.push(index);
        await own.release();
      }),
    );
    await untilInLine(index + 1);
  }
  await lease.release();
  await Promise.all(turns);
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(await redis.exists(`redisson_lock_timeout:{lock:${resource}}`)).toBe(0);
});

test('nobody who comes later gets in before those in line, also while the lock is free', async () => {
  const [holder, dead, late] = await openLocks(3);
  const lease = await held(holder);
  const abort = new AbortController();
  const waiting = dead?.acquire(resource, { waitMs: 20_000, signal: abort.signal });
  await untilInLine(1);
  // The head of the line is there, and does not come: as if its process were stopped.
  await redis.lset(`redisson_lock_queue:{lock:${resource}}`, 0, 'stopped:process');
  await redis.zadd(`redisson_lock_timeout:{lock:${resource}}`, Date.now() + 60_000, 'stopped:process');
  await lease.release();
  expect(await late?.acquire(resource, { waitMs: 300 })).toBeNull();
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});

test('who gives up or is aborted leaves the line, and the next one’s turn comes', async () => {
  const [holder, impatient, aborted, patient] = await openLocks(4);
  const lease = await held(holder);
  const abort = new AbortController();
  const first = impatient?.acquire(resource, { waitMs: 300 });
  await untilInLine(1);
  const second = aborted?.acquire(resource, { waitMs: 20_000, signal: abort.signal });
  await untilInLine(2);
  const third = held(patient);
  await untilInLine(3);
  expect(await first).toBeNull();
  abort.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  expect(await inLine()).toBe(1);
  await lease.release();
  await (await third).release();
  expect(await inLine()).toBe(0);
});

test('a turn that has passed is passed over', async () => {
  const [holder, next] = await openLocks(2);
  const lease = await held(holder);
  await redis.rpush(`redisson_lock_queue:{lock:${resource}}`, 'dead:waiter');
  await redis.zadd(`redisson_lock_timeout:{lock:${resource}}`, Date.now() - 1, 'dead:waiter');
  const waiting = held(next);
  await untilInLine(1); // The dead one is gone, the live one is there.
  await lease.release();
  await (await waiting).release();
});
