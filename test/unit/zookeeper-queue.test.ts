/** A caller of the ZooKeeper lock whose session, time or patience is over. */
import { expect, test, vi } from 'vitest';
import type { Zookeeper } from '../../src/service/connections/zookeeper.ts';
import { LockServiceUnavailable } from '../../src/service/errors.ts';
import { zookeeperQueueLock } from '../../src/service/locks/shared/zookeeper-queue.ts';

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

interface Answers {
  /** Called when the lock has read its queue. */
  readonly onRead?: () => void;
  /** Another node is before its own. */
  readonly isSecond?: boolean;
  /** Its node is gone when the lock asks for its fence. */
  readonly isGone?: boolean;
}

/** A server with one queue. It keeps the paths that were removed. */
function oneQueue({ onRead = () => {}, isSecond = false, isGone = false }: Answers = {}) {
  let name = '';
  const removed: string[] = [];
  const client = {
    create(path: string, _: unknown, reply: (error: null, made: string) => void) {
      name = `${path}0000000002`;
      reply(null, name);
    },
    getChildren(_: string, reply: (error: null, names: string[]) => void) {
      onRead();
      const own = name.slice(name.lastIndexOf('/') + 1);
      reply(null, isSecond ? ['other-0000000001', own] : [own]);
    },
    exists: (_: string, reply: (error: null, stat: { czxid: Buffer } | null) => void) =>
      reply(null, isGone ? null : { czxid: Buffer.alloc(8, 1) }),
    remove(path: string, reply: (error: null) => void) {
      removed.push(path);
      reply(null);
    },
  };
  const ask = (
    call: (on: typeof client, reply: (error: unknown, value: unknown) => void) => void,
  ) => new Promise((resolve) => call(client, (_, value) => resolve(value)));
  const zookeeper = { session: () => ({ isOver: false, ask }) } as unknown as Zookeeper;
  return { zookeeper, removed, node: () => name };
}

test('a lock whose node is gone again is not granted: it has no fence', async () => {
  const lock = zookeeperQueueLock(oneQueue({ isGone: true }).zookeeper, async () => true, {});
  const refusal = lock.acquire('seat', { waitMs: 0 });
  await expect(refusal).rejects.toMatchObject({ cause: { message: 'the session is over' } });
});

test.each([
  ['that does not wait sets no watch on the node before its own', 0, 0],
  ['whose time is over looks no more', 60_000, 1],
])('a caller %s', async (_, waitMs, watches) => {
  const wait = vi.fn(async () => false); // The time is over.
  const lock = zookeeperQueueLock(oneQueue({ isSecond: true }).zookeeper, wait, {});
  expect(await lock.acquire('seat', { waitMs })).toBeNull();
  expect(wait).toHaveBeenCalledTimes(watches);
});

test.each([
  ['the queue is read', false],
  ['it waits', true],
])('a caller that gives up while %s is not granted, and leaves the queue', async (_, isSecond) => {
  const caller = new AbortController();
  const giveUp = () => caller.abort(new Error('gave up'));
  const queue = oneQueue({ isSecond, ...(!isSecond && { onRead: giveUp }) });
  const wait = async () => {
    giveUp();
    return false;
  };
  const lock = zookeeperQueueLock(queue.zookeeper, wait, {});
  const refusal = lock.acquire('seat', { waitMs: isSecond ? 60_000 : 0, signal: caller.signal });
  await expect(refusal).rejects.toThrow('gave up');
  expect(queue.removed).toContain(queue.node());
});
