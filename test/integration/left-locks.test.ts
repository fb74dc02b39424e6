/** Locks that nobody holds, counted in the Redis servers of the lab. */
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { signToken } from '../../src/http/tokens.ts';
import { leftLocks } from '../../src/lab/drills/left-locks.ts';
import { lockServiceOf } from '../../src/lab/drills/sell-through.ts';
import { withRedis } from '../../src/lab/environment/replication.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { putOnSale } from '../../src/lab/workload/create-voucher.ts';
import type { RungName } from '../../src/ladder/rungs.ts';
import { testConnections } from '../support/connections.ts';
import { someVoucherId } from '../support/sale.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab();

/** On these servers, for users 1 to `users` of the voucher. */
async function leave(voucherId: string, users: number, servers: readonly string[]): Promise<void> {
  for (const server of servers)
    await withRedis(lab().portOf(server), async (redis) => {
      for (let user = 1; user <= users; user++)
        await redis.set(
          `lock:voucher:${voucherId}:user:${user}`,
          'a caller that gave up',
          'PX',
          20_000,
        );
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
  const { TOKEN_SECRET: secret } = testConnections().config;
  const sale = { title: 'left locks', stock: 5, rung: 'redis-atomic' } as const;
  const voucherId = await putOnSale(lab().baseUrl, secret, 4, sale);
  await leave(`${voucherId}0`, 1, ['redis-main']);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const purchase = fetch(`${lab().baseUrl}/vouchers/${voucherId}/orders`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${await signToken(secret, '7', 'user')}` },
      ...{ 'idempotency-key': randomUUID(), 'x-lab-pauses': 'after-check:1:4000' },
    },
    signal: stop.signal,
  });
  const key = `lock:voucher:${voucherId}:user:7`;
  await waitUntil('the lock', 5_000, () =>
    withRedis(lab().portOf('redis-main'), async (redis) => (await redis.exists(key)) === 1),
  );
  expect(await leftLocks(lab(), voucherId, lockServiceOf('redis-atomic'))).toBe(0);
  expect((await purchase).status).toBe(201);
});

test('locks that are not in Redis are not counted', async () => {
  expect(await leftLocks(lab(), someVoucherId(), lockServiceOf('zookeeper'))).toBeNull();
});
