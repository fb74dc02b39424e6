/** Waiting for a message: one subscription for each channel and process, one waiter woken by each message. */
import type { Connections } from '../connections/connections.ts';
import { whenReady } from '../connections/redis.ts';
import { LockServiceUnavailable } from '../errors.ts';
import type { Lease } from './lock.ts';
import { inTime, keepUnlessAborted } from './waiting.ts';

export interface Subscription {
  /** True once messages are heard, false when that takes longer. @throws LockServiceUnavailable, or the abort's reason */
  listening(withinMs: number, signal?: AbortSignal): Promise<boolean>;
  /** True at the next message that is this waiter's, or when one may have been missed; false after `waitMs`. @throws the abort's reason */
  woken(waitMs: number, signal?: AbortSignal): Promise<boolean>;
  /** Calls another waiter instead: for one who was woken and can do nothing with it. */
  passOn(): void;
  /** The last one of a channel unsubscribes. Nobody waits for that. */
  close(): void;
}

/** How long those who are called after a reconnect wait for the connection that they ask by. */
const reconnectMs = 2_000;

interface Channel {
  readonly waiters: Set<() => void>;
  /** A message that came while nobody waited: the next to wait is woken at once. */
  pending: boolean;
  users: number;
  subscribed: Promise<unknown>;
}

export function wakeUps(connections: Connections): (name: string) => Subscription {
  const [subscriber, asking] = [connections.redis('subscriber'), connections.redis('lock')];
  const channels = new Map<string, Channel>();
  subscriber.on('message', (name: string) => {
    const channel = channels.get(name);
    if (channel) call(channel); // Else another lock's: they share the connection.
  });
  subscriber.on('ready', () => {
    for (const [name, channel] of channels)
      Promise.all([subscriber.subscribe(name), whenReady(asking, reconnectMs)]).then(
        () => callAll(channel), // What was published while it was cut off, nobody heard.
        () => {}, // Cut off again: the next connection tells them.
      );
  });

  function open(name: string): Channel {
    const channel = { waiters: new Set<() => void>(), pending: false, users: 0 };
    const subscribed = subscriber.subscribe(name);
    subscribed.catch(() => {}); // Those who wait for it hear of it.
    return { ...channel, subscribed };
  }

  function close(name: string, channel: Channel): void {
    channel.users -= 1;
    if (channel.users > 0) return;
    channels.delete(name);
    subscriber.unsubscribe(name).catch(() => {}); // Cut off, it is sent on the next connection.
  }

  return (name) => {
    const channel = channels.get(name) ?? open(name);
    channels.set(name, channel);
    channel.users += 1;
    const subscribed = channel.subscribed.then(
      () => true,
      (cause: unknown) => Promise.reject(new LockServiceUnavailable(name, 0, 1, cause)),
    );
    subscribed.catch(() => {}); // Heard by those who wait for it.
    return {
      listening: async (withinMs, signal) => (await inTime(subscribed, withinMs, signal)) ?? false,
      woken: (waitMs, signal) => woken(channel, waitMs, signal),
      passOn: () => call(channel),
      close: () => close(name, channel),
    };
  };
}

/**
 * Tries as soon as it listens, since the release may have been published just before; then whenever it is called, or
 * when the lease it saw must have ended. Closes the subscription.
 * @param attempt returns the lease, or how long the present one lasts in milliseconds (-1: without end).
 * @returns null once the time is over.
 */
export async function whenCalled(
  subscription: Subscription,
  attempt: () => Promise<Lease | number>,
  leftMs: () => number,
  signal?: AbortSignal,
): Promise<Lease | null> {
  try {
    if (!(await subscription.listening(leftMs(), signal))) return null;
    for (;;) {
      const result = await attempt();
      if (typeof result !== 'number') return await keepUnlessAborted(result, signal);
      if (leftMs() === 0) return null;
      await subscription.woken(result >= 0 ? Math.min(result, leftMs()) : leftMs(), signal);
    }
  } catch (error) {
    subscription.passOn(); // It may have been called, and did nothing with it.
    throw error;
  } finally {
    subscription.close();
  }
}

/** The waiter leaves the queue before anything else happens, so that no message is spent on one who has left. */
function call(channel: Channel): void {
  const [first] = channel.waiters;
  if (first) first();
  else channel.pending = true;
}

function callAll(channel: Channel): void {
  for (const wake of [...channel.waiters]) wake();
  channel.pending = true;
}

function woken(channel: Channel, waitMs: number, signal?: AbortSignal): Promise<boolean> {
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
    const timer = setTimeout(timeout, waitMs);
    channel.waiters.add(wake);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
