/** A session of ZooKeeper that is over: the lock asks again as long as its caller waits. */
import { expect, test, vi } from 'vitest';
import type { Zookeeper } from '../../src/connections/zookeeper.ts';
import { LockServiceUnavailable } from '../../src/errors.ts';
import { zookeeperQueueLock } from '../../src/locks/shared/zookeeper-queue.ts';

/** None of its sessions lives; after five it says so in another way, so that a test ends. */
function overSessions() {
  const sessions = vi.fn(() => {
    if (sessions.mock.calls.length > 5) throw new RangeError('asked on and on');
    return { isOver: true, ask: () => Promise.reject(new Error('the session is over')) };
  });
  return { sessions, zookeeper: { session: sessions } as unknown as Zookeeper };
}

test.each([
  ['once, when its caller does not wait', 0, 1],
  ['again, as long as its caller waits', 60_000, 6],
])('a lock whose session is over asks %s', async (_, waitMs, times) => {
  const { sessions, zookeeper } = overSessions();
  const lock = zookeeperQueueLock(zookeeper, async () => true, {});
  await expect(lock.acquire('seat', { waitMs })).rejects.toThrow(LockServiceUnavailable);
  expect(sessions).toHaveBeenCalledTimes(times);
});
