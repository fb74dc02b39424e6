/** `npx lockstep locks`: a purchase that holds its lock, one that waits, and a key of nobody. */
import { expect, test } from 'vitest';
import { type LockNow, lockKeys, locksNow } from '../../src/lab/environment/locks-now.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { lockLines } from '../../src/lab/report/lock-lines.ts';
import { lockEvents } from '../../src/service/audit/read-history.ts';
import { buy, putOnSale } from '../support/client.ts';
import { readyConnections } from '../support/connections.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab();
const resourceOf = (voucherId: string) => `voucher:${voucherId}:user:7`;
const now = async () => locksNow(lockEvents(lab().historyFolder), await lockKeys(lab()));

async function ofUser(voucherId: string): Promise<LockNow | undefined> {
  return (await now()).find(({ resource }) => resource === resourceOf(voucherId));
}

test.each(['redis-reentrant', 'redis-fair'])(
  'names the owner and the waiter of %s',
  async (rung) => {
    const voucherId = await putOnSale({ rung });
    const first = buy(voucherId, '7', { 'x-lab-pauses': 'after-check:1:1500' });
    await waitUntil(
      'an owner',
      20_000,
      async () => (await ofUser(voucherId))?.holders.length === 1,
    );
    const second = buy(voucherId, '7');
    await waitUntil(
      'a waiter',
      20_000,
      async () => (await ofUser(voucherId))?.waiting.length === 1,
    );
    const lock = await ofUser(voucherId);
    expect(lock).toMatchObject({ server: 'redis-main', count: 1, ghosts: 0 });
    const holder = { instance: expect.stringMatching(/^api-\d$/), userId: '7' };
    expect(lock?.holders).toEqual([{ ...holder, orderId: expect.stringMatching(/^\d+$/) }]);
    expect(lock?.leftMs).toBeGreaterThan(0);
    await Promise.all([first, second]);
    await waitUntil('the release', 20_000, async () => (await ofUser(voucherId)) === undefined);
  },
);

test('says that nobody holds a key that is left over, and counts waiters of no process', async () => {
  const redis = (await readyConnections()).redis('admin');
  await redis.set('lock:voucher:1:user:7', 'a dead owner', 'PX', 3_000);
  await redis.rpush('redisson_lock_queue:{lock:voucher:1:user:7}', 'a dead waiter');
  await redis.pexpire('redisson_lock_queue:{lock:voucher:1:user:7}', 3_000);
  const lock = await ofUser('1');
  expect(lock).toMatchObject({ holders: [], waiting: [], ghosts: 1, owner: 'a dead owner' });
  const text = lockLines(lock ? [lock] : []);
  expect(text).toContain('held by: NOBODY; it is left over until its lease ends');
  expect(text).toContain('in its queue, and in no living process: 1');
});
