/**
 * Idea. Every request creates a numbered node that ends with its session; the lowest number has the
 *   lock, and each waiter watches the node before its own: in order of arrival, without a herd. The
 *   owner may acquire again.
 * Holds while. ZooKeeper hears from the owner's process within the session's timeout.
 * Breaks when. The process is paused past its session: ZooKeeper grants the lock to the next before
 *   the owner knows.
 * Source. ZooKeeper, "Recipes and Solutions: Locks"; Curator's InterProcessMutex and its Tech Note
 *   10.
 */
import type { Zookeeper } from '../connections/zookeeper.ts';
import { untilRemoved } from '../connections/zookeeper-nodes.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import { tellWaiting } from '../trace/history.ts';
import type { Lock } from './lock.ts';
import { reentrant } from './shared/owner.ts';
import {
  type WaitForRemoval,
  type ZookeeperLockOptions,
  zookeeperQueueLock,
} from './shared/zookeeper-queue.ts';

export const zookeeperLock = (zookeeper: Zookeeper, options: ZookeeperLockOptions = {}): Lock =>
  reentrant(zookeeperQueueLock(zookeeper, watchAndCheck, options));

/** One request sets the watch and says whether the node exists, so a removal is never missed. */
const watchAndCheck: WaitForRemoval = async (session, path, withinMs, signal) => {
  await checkpoint('before-subscribe');
  tellWaiting();
  return untilRemoved(session, path, withinMs, signal);
};
