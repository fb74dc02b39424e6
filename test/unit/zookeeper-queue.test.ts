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

test('a lock whose node is gone again is not granted: it has no fence', async () => {
  let name = '';
  const client = {
    create(path: string, _: unknown, reply: (error: null, made: string) => void) {
      name = `${path}0000000001`;
      reply(null, name);
    },
    getChildren: (_: string, reply: (error: null, names: string[]) => void) =>
      reply(null, [name.slice(name.lastIndexOf('/') + 1)]),
    exists: (_: string, reply: (error: null, stat: null) => void) => reply(null, null),
    remove: (_: string, reply: (error: null) => void) => reply(null),
  };
  const ask = (
    call: (on: typeof client, reply: (error: unknown, value: unknown) => void) => void,
  ) => new Promise((resolve) => call(client, (_, value) => resolve(value)));
  const zookeeper = { session: () => ({ isOver: false, ask }) } as unknown as Zookeeper;
  const lock = zookeeperQueueLock(zookeeper, async () => true, {});
  const refusal = lock.acquire('seat', { waitMs: 0 });
  await expect(refusal).rejects.toMatchObject({ cause: { message: 'the session is over' } });
});
