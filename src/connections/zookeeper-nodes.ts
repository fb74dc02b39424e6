/** What the lock does with ZooKeeper's nodes, with the answers that are ordinary told apart from failures. */
import { CreateMode, Exception, type Stat } from 'node-zookeeper-client';
import type { ZookeeperSession } from './zookeeper-session.ts';

/** Makes a node that lasts, and those above it where they are missing; what is there already is fine. */
export async function makeFolder(session: ZookeeperSession, path: string): Promise<void> {
  const isMade = await session
    .ask<string>((client, reply) => client.create(path, CreateMode.PERSISTENT, reply))
    .then(() => true)
    .catch(ordinary(true, Exception.NODE_EXISTS))
    .catch(ordinary(false, Exception.NO_NODE));
  if (!isMade) await session.ask<string>((client, reply) => client.mkdirp(path, reply));
}

/** Makes a node that ends with the session; ZooKeeper puts a growing number behind its name. Null: no such folder. */
export function makeNumbered(session: ZookeeperSession, prefix: string): Promise<string | null> {
  const made = session.ask<string>((client, reply) =>
    client.create(prefix, CreateMode.EPHEMERAL_SEQUENTIAL, reply),
  );
  return made.catch(ordinary(null, Exception.NO_NODE));
}

/** The names in a folder; none where there is no folder. */
export function namesIn(session: ZookeeperSession, folder: string): Promise<string[]> {
  const names = session.ask<string[]>((client, reply) => client.getChildren(folder, reply));
  return names.catch(ordinary([], Exception.NO_NODE));
}

/** The transaction that made the node (czxid): it grows with every write to ZooKeeper. Null: no such node. */
export async function madeBy(session: ZookeeperSession, path: string): Promise<bigint | null> {
  const stat = await session.ask<Stat | null>((client, reply) => client.exists(path, reply));
  return stat ? stat.czxid.readBigUInt64BE() : null;
}

/** Removes a node; one that is gone, or a folder that is in use, is fine. */
export function remove(session: ZookeeperSession, path: string): Promise<void> {
  const removed = session.ask<void>((client, reply) =>
    client.remove(path, (error) => reply(error, undefined)),
  );
  return removed.catch(ordinary(undefined, Exception.NO_NODE, Exception.NOT_EMPTY));
}

/** Resolves when the node is gone, or may be; or when the time is over; or when the signal aborts. */
export async function untilRemoved(
  session: ZookeeperSession,
  path: string,
  withinMs: number,
  signal?: AbortSignal,
): Promise<void> {
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const timer = setTimeout(stop, withinMs);
  signal?.addEventListener('abort', stop);
  session.removals.once(path, stop);
  try {
    if (await watch(session, path)) await stopped;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    session.removals.off(path, stop);
  }
}

/**
 * Leaves a watch on a node, and looks whether it is there, in one. Reads its data for that: `exists` would leave its
 * watch on a node that is gone too, for ever.
 */
function watch(session: ZookeeperSession, path: string): Promise<boolean> {
  const seen = session.ask<boolean>((client, reply) =>
    client.getData(path, session.tellOfRemoval, (error) => reply(error, true)),
  );
  return seen.catch(ordinary(false, Exception.NO_NODE));
}

/** Turns the errors with these codes into an answer. */
function ordinary<T>(answer: T, ...codes: readonly number[]): (error: unknown) => T {
  return (error) => {
    if (error instanceof Exception && codes.includes(error.code)) return answer;
    throw error;
  };
}
