/**
 * The lock's operations on ZooKeeper nodes. Ordinary answers (no such node) are values, failures
 * are errors.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stat } from 'node-zookeeper-client';
import { type ZookeeperSession, zookeeperPackage } from './zookeeper.ts';

/** Creates a persistent node and its missing parents; an existing node is fine. */
export async function createFolder(session: ZookeeperSession, path: string): Promise<void> {
  const isMade = await session
    .ask<string>((client, reply) => client.create(path, mode('PERSISTENT'), reply))
    .then(() => true)
    .catch(ordinary(true, 'NODE_EXISTS'))
    .catch(ordinary(false, 'NO_NODE'));
  if (!isMade) await session.ask<string>((client, reply) => client.mkdirp(path, reply));
}

/**
 * Creates a node that ends with the session; ZooKeeper appends a growing number to its name. Null:
 * no such folder.
 */
export function createNumbered(session: ZookeeperSession, prefix: string): Promise<string | null> {
  const made = session.ask<string>((client, reply) =>
    client.create(prefix, mode('EPHEMERAL_SEQUENTIAL'), reply),
  );
  return made.catch(ordinary(null, 'NO_NODE'));
}

/** The names in a folder; none when there is no folder. */
export function namesIn(session: ZookeeperSession, folder: string): Promise<string[]> {
  const names = session.ask<string[]>((client, reply) => client.getChildren(folder, reply));
  return names.catch(ordinary([], 'NO_NODE'));
}

/**
 * The transaction that created the node (czxid): it grows with every write to ZooKeeper. Null: no
 * such node.
 */
export async function createdBy(session: ZookeeperSession, path: string): Promise<bigint | null> {
  const stat = await session.ask<Stat | null>((client, reply) => client.exists(path, reply));
  return stat ? stat.czxid.readBigUInt64BE() : null;
}

/** Removes a node. A node that is gone is fine, and so is a folder that is in use. */
export function remove(session: ZookeeperSession, path: string): Promise<void> {
  const removed = session.ask<void>((client, reply) =>
    client.remove(path, (error) => reply(error, undefined)),
  );
  return removed.catch(ordinary(undefined, 'NO_NODE', 'NOT_EMPTY'));
}

/**
 * @returns true when the node is gone or may be, false when `withinMs` is over; resolves early when
 * the signal aborts.
 */
export async function untilRemoved(
  session: ZookeeperSession,
  path: string,
  withinMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const removal = new AbortController();
  const onRemoval = () => removal.abort();
  session.removals.once(path, onRemoval);
  try {
    return !(await exists(session, path)) || (await aborted(withinMs, removal.signal, signal));
  } finally {
    session.removals.off(path, onRemoval);
  }
}

/** True when one of the signals aborts, false after `withinMs`. */
export async function aborted(
  withinMs: number,
  ...signals: readonly (AbortSignal | undefined)[]
): Promise<boolean> {
  const signal = AbortSignal.any(signals.filter((each) => each !== undefined));
  return sleep(withinMs, false, { signal }).catch(() => true);
}

/**
 * Sets a watch on a node and says whether it exists, in one request. It reads the data for that:
 * `exists` would leave its watch on a node that is gone, for ever.
 */
export function exists(session: ZookeeperSession, path: string): Promise<boolean> {
  const seen = session.ask<boolean>((client, reply) =>
    client.getData(path, session.announceRemoval, (error) => reply(error, true)),
  );
  return seen.catch(ordinary(false, 'NO_NODE'));
}

const mode = (name: 'PERSISTENT' | 'EPHEMERAL_SEQUENTIAL'): number =>
  zookeeperPackage().CreateMode[name];

type Ordinary = 'NODE_EXISTS' | 'NO_NODE' | 'NOT_EMPTY';

/** Turns these errors into an answer. */
function ordinary<T>(answer: T, ...names: readonly Ordinary[]): (error: unknown) => T {
  return (error) => {
    const { Exception } = zookeeperPackage();
    const isOrdinary =
      error instanceof Exception && names.some((each) => Exception[each] === error.code);
    if (isOrdinary) return answer;
    throw error;
  };
}
