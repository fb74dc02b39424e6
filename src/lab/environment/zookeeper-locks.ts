/** The locks that are nodes in ZooKeeper: the first node of a folder is the owner's. */
import type { Zookeeper } from '../../service/connections/zookeeper.ts';
import { createdBy, namesIn } from '../../service/connections/zookeeper-nodes.ts';
import type { ZookeeperSession } from '../../service/connections/zookeeper-session.ts';
import {
  defaultFolder,
  inTurn,
  nodesOf,
  resourceNamed,
} from '../../service/locks/shared/zookeeper-queue.ts';
import type { LockKey } from './lock-keys.ts';

type Found = LockKey & { readonly createdBy: bigint };

/** The oldest first; a lock that is released meanwhile is left out. */
export async function zookeeperLocks(
  zookeeper: Zookeeper,
  isWanted: (resource: string) => boolean,
): Promise<LockKey[]> {
  const session = zookeeper.session();
  const resources = (await namesIn(session, defaultFolder)).map(resourceNamed).filter(isWanted);
  const found = await Promise.all(resources.map((resource) => ownerOf(session, resource)));
  return found
    .filter((lock) => lock !== null)
    .sort((one, other) => Number(one.createdBy - other.createdBy));
}

async function ownerOf(session: ZookeeperSession, resource: string): Promise<Found | null> {
  const [owner, ...waiting] = inTurn(await namesIn(session, nodesOf(resource)));
  if (owner === undefined) return null;
  const transaction = await createdBy(session, `${nodesOf(resource)}/${owner}`);
  if (transaction === null) return null;
  const lock = { resource, owner, server: 'zookeeper', count: 1, leftMs: null };
  return { ...lock, queued: waiting.length, createdBy: transaction };
}
