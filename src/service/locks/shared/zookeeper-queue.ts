/**
 * A queue of numbered nodes in ZooKeeper. How a waiter waits for the node before its own is the
 * lock's choice.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Zookeeper, ZookeeperSession } from '../../connections/zookeeper.ts';
import {
  createdBy,
  createFolder,
  createNumbered,
  namesIn,
  remove,
} from '../../connections/zookeeper-nodes.ts';
import { type AcquireOptions, defaultAnswerMs, type Lease, type Lock } from '../lock.ts';
import { inTime, timeLeft } from './deadlines.ts';
import { sessionLease } from './leases.ts';
import { serverLock } from './server-lock.ts';

export interface ZookeeperLockOptions {
  /** The folder of every lock's nodes; `/lockstep/locks` without it. */
  readonly folder?: string;
  /** How long ZooKeeper's answer may take, in milliseconds; 500 without it. */
  readonly answerMs?: number;
}

/**
 * @returns true when the node is gone or may be, false when `withinMs` is over; resolves early when
 * the signal aborts.
 */
export type WaitForRemoval = (
  session: ZookeeperSession,
  path: string,
  withinMs: number,
  signal?: AbortSignal,
) => Promise<boolean>;

export const defaultFolder = '/lockstep/locks';
const ofResource = 'of-';

/**
 * One folder for each resource, since numbers are compared within it. Encoded, the name is one
 * part of a path.
 */
export const nodesOf = (resource: string, folder = defaultFolder): string =>
  `${folder}/${ofResource}${encodeURIComponent(resource)}`;
/** What `nodesOf` encoded. @param name the last part of its path */
export const resourceNamed = (name: string): string =>
  decodeURIComponent(name.slice(ofResource.length));

const retryMs = 50;
const triesMax = 5;
const advice = 'ZooKeeper ended the session, or could not be reached for ZOOKEEPER_SESSION_MS';

const numberOf = (name: string) => Number(name.slice(-10));
/** The nodes of a lock, its owner's first. */
export const inTurn = (names: readonly string[]): string[] =>
  names.toSorted((one, other) => numberOf(one) - numberOf(other));

export function zookeeperQueueLock(
  zookeeper: Zookeeper,
  waitForRemoval: WaitForRemoval,
  options: ZookeeperLockOptions,
): Lock {
  const { folder, answerMs = defaultAnswerMs } = options;

  async function attempt(session: ZookeeperSession, resource: string, wanted: AcquireOptions) {
    const place = new QueuePlace(session, nodesOf(resource, folder), waitForRemoval);
    const leave = async () => void (await inTime(place.leave(), answerMs));
    let fence: string | null = null;
    try {
      fence = await place.turn(wanted);
    } finally {
      if (fence === null) await leave();
    }
    return fence === null ? null : sessionLease(resource, session, advice, leave, fence);
  }

  async function acquire(
    resource: string,
    { waitMs, ...others }: AcquireOptions,
  ): Promise<Lease | null> {
    const leftMs = timeLeft(waitMs);
    for (;;) {
      const session = zookeeper.session();
      try {
        return await attempt(session, resource, { waitMs: leftMs(), ...others });
      } catch (cause) {
        const again = session.isOver && leftMs() > 0;
        if (!again) throw cause;
      }
    }
  }

  return serverLock({ acquire }, answerMs);
}

/**
 * A place in the queue for a lock. Its random id finds its node when the answer to the create was
 * lost.
 */
class QueuePlace {
  readonly #session: ZookeeperSession;
  readonly #folder: string;
  readonly #waitForRemoval: WaitForRemoval;
  readonly #id = `${randomUUID()}-`;
  #name: string | undefined;

  constructor(session: ZookeeperSession, folder: string, waitForRemoval: WaitForRemoval) {
    this.#session = session;
    this.#folder = folder;
    this.#waitForRemoval = waitForRemoval;
  }

  /** @returns the fence once it is this place's turn, or null after `waitMs`. */
  async turn({ waitMs, signal }: AcquireOptions): Promise<string | null> {
    const deadline = performance.now() + waitMs;
    this.#name = await this.#take();
    for (;;) {
      const queue = inTurn(await namesIn(this.#session, this.#folder));
      signal?.throwIfAborted();
      const before = queue[queue.indexOf(this.#name) - 1];
      if (before === undefined) return this.#fence(this.#name);
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return null;
      const path = `${this.#folder}/${before}`;
      const mayBeGone = await this.#waitForRemoval(this.#session, path, leftMs, signal);
      signal?.throwIfAborted();
      if (!mayBeGone) return null;
    }
  }

  /** Resolves once the node is gone, or the session is over: then ZooKeeper removes the node. */
  async leave(): Promise<void> {
    while (!this.#session.isOver) {
      try {
        const names = this.#name === undefined ? await this.#found() : [this.#name];
        const paths = [...names.map((name) => `${this.#folder}/${name}`), this.#folder];
        // ZooKeeper refuses to remove a folder in use.
        await Promise.all(paths.map((path) => remove(this.#session, path)));
        return;
      } catch {
        await sleep(retryMs);
      }
    }
  }

  async #take(): Promise<string> {
    for (let tries = 0; tries < triesMax; tries++) {
      const path = await createNumbered(this.#session, `${this.#folder}/${this.#id}`).catch(
        () => undefined,
      );
      if (path) return path.slice(this.#folder.length + 1);
      const [name] = path === undefined ? await this.#found() : [];
      if (name !== undefined) return name;
      await createFolder(this.#session, this.#folder); // The last owner may just have removed it.
    }
    throw new Error(`no node could be created in ${this.#folder}`);
  }

  /**
   * The node of this place, if there is one. ZooKeeper applies a session's writes in order, and
   * answers a write once the server that was asked has applied it. So after this write (the removal
   * of nothing) that server has applied the create.
   */
  async #found(): Promise<string[]> {
    await remove(this.#session, `${this.#folder}/${this.#id}`);
    return (await namesIn(this.#session, this.#folder)).filter((name) => name.startsWith(this.#id));
  }

  /**
   * The transaction that created the node: node numbers start again at 0 when their folder was
   * removed.
   */
  async #fence(name: string): Promise<string> {
    const transaction = await createdBy(this.#session, `${this.#folder}/${name}`);
    if (transaction === null) throw new Error('the session is over');
    return String(transaction);
  }
}
