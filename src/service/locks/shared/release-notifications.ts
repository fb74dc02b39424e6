/**
 * Release messages: one subscription for each channel and process; each message wakes one waiter.
 */
import { Cluster, type Redis } from 'ioredis';
import { subscribesItself, whenReady } from '../../connections/redis.ts';
import { checkpoint } from '../../trace/checkpoints.ts';
import { tellWaiting } from '../../trace/history.ts';
import type { AcquireOptions, Lease } from '../lock.ts';
import { inTime, keepUnlessAborted, timeLeft } from './deadlines.ts';

/** What a lock that waits for messages takes beside its client. */
export interface SubscriberOptions {
  /**
   * The connection that subscribes. Without it the lock's client is duplicated when the first
   * caller waits.
   */
  readonly subscriber?: Redis;
}

export interface Subscription {
  /**
   * True once messages arrive here, false when that takes longer.
   * @throws the error of the subscription, or the abort reason
   */
  listening(withinMs: number, signal?: AbortSignal): Promise<boolean>;
  /**
   * True at the next message for this waiter, and when a message may have been missed; false after
   * `waitMs`.
   * @throws the abort reason
   */
  notified(waitMs: number, signal?: AbortSignal): Promise<boolean>;
  /** Gives the message to another waiter, when this one cannot use it. */
  handOver(): void;
  /** The last subscription of a channel unsubscribes, in the background. */
  close(): void;
}

/** How long waiters that are woken by a reconnect wait for the connection they ask by. */
const reconnectMs = 2_000;

/**
 * A cluster client subscribes on one node, and on another one after it has lost that; it does not
 * say so. A message that was published meanwhile is noticed after this time.
 */
const clusterMs = 1_000;

interface Channel {
  readonly waiters: Set<() => void>;
  /** A message came while nobody waited: the next to wait is woken at once. */
  pending: boolean;
  users: number;
  subscribed: Promise<unknown>;
}

/** @returns a function that subscribes to a channel. */
export function releaseNotifications(
  redis: Redis,
  options: SubscriberOptions,
): (channel: string) => Subscription {
  const channels = new Channels(redis, options);
  return (name) => channels.subscribe(name);
}

class Channels {
  readonly #redis: Redis;
  readonly #given: Redis | undefined;
  readonly #channels = new Map<string, Channel>();
  #opened: Redis | undefined;

  constructor(redis: Redis, { subscriber }: SubscriberOptions) {
    this.#redis = redis;
    this.#given = subscriber;
  }

  subscribe(name: string): Subscription {
    const channel = this.#channels.get(name) ?? this.#open(name);
    this.#channels.set(name, channel);
    channel.users += 1;
    const subscribed = channel.subscribed.then(() => true);
    subscribed.catch(() => {}); // Every waiter awaits it and sees the error.
    return {
      listening: async (withinMs, signal) => (await inTime(subscribed, withinMs, signal)) ?? false,
      notified: (waitMs, signal) => this.#notified(channel, waitMs, signal),
      handOver: () => wakeOne(channel),
      close: () => this.#close(name, channel),
    };
  }

  async #notified(channel: Channel, waitMs: number, signal?: AbortSignal): Promise<boolean> {
    const connection: object = this.#subscriber();
    const mayMiss = connection instanceof Cluster && waitMs > clusterMs;
    return (await notified(channel, mayMiss ? clusterMs : waitMs, signal)) || mayMiss;
  }

  #open(name: string): Channel {
    const subscribed = this.#subscriber().subscribe(name);
    subscribed.catch(() => {}); // Every waiter awaits it and sees the error.
    return { waiters: new Set(), pending: false, users: 0, subscribed };
  }

  #close(name: string, channel: Channel): void {
    channel.users -= 1;
    if (channel.users > 0) return;
    this.#channels.delete(name);
    const unsubscribed = this.#subscriber().unsubscribe(name);
    unsubscribed.catch(() => {}); // Sent on the next connection.
  }

  #subscriber(): Redis {
    if (this.#opened) return this.#opened;
    this.#opened = this.#given ?? duplicate(this.#redis);
    this.#listen(this.#opened);
    return this.#opened;
  }

  #listen(connection: Redis): void {
    connection.on('message', (name: string) => {
      const channel = this.#channels.get(name);
      if (channel) wakeOne(channel); // Else another lock's: locks may share the connection.
    });
    connection.on('ready', () => {
      for (const [name, channel] of this.#channels)
        Promise.all([connection.subscribe(name), whenReady(this.#redis, reconnectMs)]).then(
          () => wakeAll(channel), // Messages that were published during the disconnection are lost.
          () => {}, // Disconnected again: the next connection wakes them.
        );
    });
  }
}

/**
 * A subscriber never gives up and keeps its commands over a reconnect. It ends with the client that
 * it came from.
 */
function duplicate(redis: Redis): Redis {
  const { commandTimeout: _, ...options } = redis.options;
  const subscriber = redis.duplicate({
    ...options,
    ...subscribesItself,
    maxRetriesPerRequest: null,
    enableOfflineQueue: true,
  });
  subscriber.on('error', () => {}); // The client that it came from reports the same server.
  redis.once('end', () => subscriber.disconnect());
  return subscriber;
}

/**
 * Asks once. A caller that waits then subscribes, and asks again.
 * @param attempt as in `acquireWhenNotified`
 */
export async function askThenSubscribe(
  attempt: () => Promise<Lease | number>,
  subscribe: () => Subscription,
  { waitMs, signal }: AcquireOptions,
): Promise<Lease | null> {
  const leftMs = timeLeft(waitMs);
  const first = await attempt();
  if (typeof first !== 'number') return keepUnlessAborted(first, signal);
  if (waitMs === 0) return null;
  await checkpoint('before-subscribe');
  return acquireWhenNotified(subscribe(), attempt, leftMs, signal);
}

/**
 * Asks as soon as messages arrive here, since the release may have been published just before; then
 * at every message, and when the lease that it saw must have expired. Closes the subscription.
 * @param attempt returns the lease, or how long the present one lasts in milliseconds (-1: without
 * end).
 * @returns null once the time is over.
 */
export async function acquireWhenNotified(
  subscription: Subscription,
  attempt: () => Promise<Lease | number>,
  leftMs: () => number,
  signal?: AbortSignal,
): Promise<Lease | null> {
  try {
    if (!(await subscription.listening(leftMs(), signal))) return null;
    for (let attempts = 1; ; attempts++) {
      const result = await attempt();
      if (typeof result !== 'number') return await keepUnlessAborted(result, signal);
      if (leftMs() === 0) return null;
      if (attempts === 1) tellWaiting();
      await subscription.notified(result >= 0 ? Math.min(result, leftMs()) : leftMs(), signal);
    }
  } catch (error) {
    subscription.handOver(); // This waiter may have been notified, and cannot use it.
    throw error;
  } finally {
    subscription.close();
  }
}

/**
 * The waiter leaves the queue before anything else happens, so that no message is spent on a waiter
 * that has left.
 */
function wakeOne(channel: Channel): void {
  const [first] = channel.waiters;
  if (first) first();
  else channel.pending = true;
}

function wakeAll(channel: Channel): void {
  for (const wake of [...channel.waiters]) wake();
  channel.pending = true;
}

function notified(channel: Channel, waitMs: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  if (channel.pending) {
    channel.pending = false;
    return Promise.resolve(true);
  }
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      channel.waiters.delete(wake);
      signal?.removeEventListener('abort', abort);
    };
    const wake = () => {
      leave();
      resolve(true);
    };
    const timeout = () => {
      leave();
      resolve(false);
    };
    const abort = () => {
      leave();
      reject(signal?.reason);
    };
    const timer = setTimeout(timeout, Math.ceil(waitMs)); // Node cuts a fraction off.
    channel.waiters.add(wake);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
