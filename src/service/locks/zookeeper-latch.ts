/**
 * Idea. The queue of numbered nodes of zookeeper, with the notes' wait: subscribe, ask whether the
 *   node exists, and only then make the latch that the event should open.
 * Holds while. No node is removed between the question and the latch.
 * Breaks when. The owner releases in that gap: the event finds no latch (a lost wake-up), and the
 *   waiter sleeps beside a free lock.
 * Source. The course notes' DistributeLock.waitLock (ZkClient and CountDownLatch), without its lock
 *   names in one folder.
 */
import type { Zookeeper } from '../connections/zookeeper.ts';
import { aborted, exists } from '../connections/zookeeper-nodes.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import { tellWaiting } from '../trace/history.ts';
import type { Lock } from './lock.ts';
import {
  type WaitForRemoval,
  type ZookeeperLockOptions,
  zookeeperQueueLock,
} from './shared/zookeeper-queue.ts';

export const zookeeperLatchLock = (
  zookeeper: Zookeeper,
  options: ZookeeperLockOptions = {},
): Lock => zookeeperQueueLock(zookeeper, existsThenLatch, options);

const existsThenLatch: WaitForRemoval = async (session, path, withinMs, signal) => {
  let latch: AbortController | undefined;
  const onRemoval = () => latch?.abort();
  session.removals.once(path, onRemoval);
  try {
    if (!(await exists(session, path))) return true;
    await checkpoint('before-subscribe'); // A removal in this gap finds no latch.
    tellWaiting();
    latch = new AbortController();
    return await aborted(withinMs, latch.signal, signal);
  } finally {
    session.removals.off(path, onRemoval);
  }
};
