/** Locks that nobody holds, counted in the Redis servers of the lab. */
import { expect, test } from 'vitest';
import { leftLocks, lockServiceOf } from '../../src/lab/drills/lock-outages.ts';
import { withRedis } from '../../src/lab/environment/replication.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import { buy, putOnSale } from '../support/client.ts';
import { theLab } from '../support/own-lab.ts';
import { someVoucherId } from '../support/sale.ts';

const lab = theLab();
const keyOf = (voucherId: string, user: number) => `lock:voucher:${voucherId}:user:${user}`;

/** On these servers, for users 1 to `users` of the voucher. */
async function leave(voucherId: string, users: number, servers: readonly string[]): Promise<void> {
  for (const server of servers)
    await withRedis(lab().portOf(server), async (redis) => {
      for (let user = 1; user <= users; user++)
        await redis.set(keyOf(voucherId, user), 'a caller that gave up', 'PX', 20_000);
    });
}

test.each<[RungName, servers: readonly string[], left: number]>([
  ['redis-atomic', ['redis-main'], 2],
  ['redlock', ['redis-1'], 0],
  ['redlock', ['redis-1', 'redis-3'], 2],
  ['multilock', ['redis-2'], 2],
])('on %s, a lock on %j that nobody holds: %i', async (rung, servers, left) => {
  const voucherId = someVoucherId();
  await leave(voucherId, 2, servers);
  expect(await leftLocks(lab(), voucherId, lockServiceOf(rung))).toBe(left);
});

test('a lock that a purchase holds is not left, nor is one of another voucher', async () => {
  const voucherId = await putOnSale({ rung: 'redis-atomic' });
  await leave(`${voucherId}0`, 1, ['redis-main']);
  const purchase = buy(voucherId, '7', { 'x-lab-pauses': 'after-check:1:2000' });
  await waitUntil('the lock', 20_000, () =>
    withRedis(lab().portOf('redis-main'), async (redis) => {
      return (await redis.exists(keyOf(voucherId, 7))) === 1;
    }),
  );
  expect(await leftLocks(lab(), voucherId, lockServiceOf('redis-atomic'))).toBe(0);
  expect((await purchase).httpStatus).toBe(201);
});

test('locks that are not in Redis are not counted', async () => {
  expect(await leftLocks(lab(), someVoucherId(), lockServiceOf('zookeeper'))).toBeNull();
});
