/**
 * Idea. Everybody who wants the lock makes a numbered node that ends with its session; the lowest number holds, and each
 *   waits for the one before it to go: in order of arrival, and without a herd.
 * Holds while. ZooKeeper hears from the holder's process within the session's timeout.
 * Breaks when. The holder is paused past its session: ZooKeeper lets the next one in before the holder knows.
 * Source. ZooKeeper, "Recipes and Solutions: Locks"; Curator's InterProcessMutex and its Tech Note 10.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkpoint } from '../checkpoints.ts';
import type { Connections } from '../connections/connections.ts';
import {
  madeBy,
  makeFolder,
  makeNumbered,
  namesIn,
  remove,
  untilRemoved,
} from '../connections/zookeeper-nodes.ts';
import type { ZookeeperSession } from '../connections/zookeeper-session.ts';
import { LockServiceUnavailable } from '../errors.ts';
import { type AcquireOptions, type Lease, type Lock, sessionLease } from './lock.ts';
import { inTime } from './waiting.ts';

const retryMs = 50;
const mostTries = 5;
const advice = 'ZooKeeper ended its session, or was out of reach for ZOOKEEPER_SESSION_MS';

/** A folder for each resource, since numbers are compared within it; the name is one part of a path, whatever it holds. */
const folderOf = (resource: string) => `/lockstep/locks/of-${encodeURIComponent(resource)}`;
const numberOf = (name: string) => Number(name.slice(-10));

export function open(connections: Connections): Lock {
  const zookeeper = connections.zookeeper();

  async function attempt(session: ZookeeperSession, resource: string, options: AcquireOptions) {
    const place = new Place(session, folderOf(resource));
    const leave = async () => void (await inTime(place.leave(), connections.config.LOCK_ANSWER_MS));
    let fence: string | null = null;
    try {
      fence = await place.turn(options);
    } finally {
      if (fence === null) await leave();
    }
    return fence === null ? null : sessionLease(resource, session, advice, leave, fence);
  }

  async function acquire(resource: string, { waitMs, ...others }: AcquireOptions): Promise<Lease | null> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      others.signal?.throwIfAborted();
      const session = zookeeper.session();
      const leftMs = Math.max(0, deadline - performance.now());
      try {
        return await attempt(session, resource, { waitMs: leftMs, ...others });
      } catch (cause) {
        others.signal?.throwIfAborted();
        const again = session.isOver && performance.now() < deadline;
        if (!again) throw new LockServiceUnavailable(resource, 0, 1, cause);
      }
    }
  }

  return { acquire };
}

/** A place in the queue for a lock. Its random id finds its node when the answer to the making of it was lost. */
class Place {
  readonly #session: ZookeeperSession;
  readonly #folder: string;
  readonly #id = `${randomUUID()}-`;
  #name: string | undefined;

  constructor(session: ZookeeperSession, folder: string) {
    this.#session = session;
    this.#folder = folder;
  }

  /** @returns the fence once it is this place's turn, or null when that is not in time. */
  async turn({ waitMs, signal }: AcquireOptions): Promise<string | null> {
    const deadline = performance.now() + waitMs;
    this.#name = await this.#take();
    for (;;) {
      const queue = await namesIn(this.#session, this.#folder);
      queue.sort((one, other) => numberOf(one) - numberOf(other));
      signal?.throwIfAborted();
      const before = queue[queue.indexOf(this.#name) - 1];
      if (before === undefined) return this.#fence(this.#name);
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return null;
      await checkpoint('before-subscribe');
      await untilRemoved(this.#session, `${this.#folder}/${before}`, leftMs, signal);
      signal?.throwIfAborted();
    }
  }

  /** Resolves once the node is gone; or the session is over, and ZooKeeper removes what it left. */
  async leave(): Promise<void> {
    while (!this.#session.isOver) {
      try {
        const names = this.#name === undefined ? await this.#found() : [this.#name];
        const paths = [...names.map((name) => `${this.#folder}/${name}`), this.#folder];
        await Promise.all(paths.map((path) => remove(this.#session, path))); // The folder last, and only if it is empty.
        return;
      } catch {
        await sleep(retryMs);
      }
    }
  }

  async #take(): Promise<string> {
    for (let tries = 0; tries < mostTries; tries++) {
      const path = await makeNumbered(this.#session, `${this.#folder}/${this.#id}`).catch(() => undefined);
      if (path) return path.slice(this.#folder.length + 1);
      const [name] = path === undefined ? await this.#found() : [];
      if (name !== undefined) return name;
      await makeFolder(this.#session, this.#folder); // The last to leave has removed it, perhaps just now.
    }
    throw new Error(`no node could be made in ${this.#folder}`);
  }

  /**
   * Its node, if there is one. ZooKeeper deals with a session's writes in order, and tells of one when the server that is
   * asked has it: after this removal of nothing, that server has dealt with the making too.
   */
  async #found(): Promise<string[]> {
    await remove(this.#session, `${this.#folder}/${this.#id}`);
    return (await namesIn(this.#session, this.#folder)).filter((name) => name.startsWith(this.#id));
  }

  /** The transaction that made the node: numbers of nodes begin again at 0 when their folder was removed. */
  async #fence(name: string): Promise<string> {
    const transaction = await madeBy(this.#session, `${this.#folder}/${name}`);
    if (transaction === null || this.#session.remainingMs() === 0) throw new Error('the session is over');
    return String(transaction);
  }
}
