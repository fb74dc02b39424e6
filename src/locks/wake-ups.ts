/** Waiting for a message: one subscription for each channel and process, one waiter woken by each message. */
import type { Redis } from 'ioredis';

export interface Subscription {
  /** True at the next message that is this waiter's, false after `waitMs`; rejects when `signal` aborts. */
  woken(waitMs: number, signal?: AbortSignal): Promise<boolean>;
  /** The last one of a channel unsubscribes. */
  close(): Promise<void>;
}

interface Channel {
  readonly waiters: Set<(called: boolean) => void>;
  /** A message that came while nobody waited: the next to wait is woken at once. */
  pending: boolean;
  users: number;
  subscribed: Promise<unknown>;
}

export function wakeUps(subscriber: Redis): (name: string) => Promise<Subscription> {
  const channels = new Map<string, Channel>();
  subscriber.on('message', (name: string) => {
    const channel = channels.get(name);
    const [first] = channel?.waiters ?? [];
    if (first) first(true);
    else if (channel) channel.pending = true;
  });

  async function close(name: string, channel: Channel): Promise<void> {
    channel.users -= 1;
    if (channel.users > 0) return;
    channels.delete(name);
    await subscriber.unsubscribe(name);
  }

  return async (name) => {
    const channel = channels.get(name) ?? {
      waiters: new Set(),
      pending: false,
      users: 0,
      subscribed: subscriber.subscribe(name),
    };
    channels.set(name, channel);
    channel.users += 1;
    await channel.subscribed.catch(async (error: unknown) => {
      await close(name, channel).catch(() => {});
      throw error;
    });
    return { woken: (waitMs, signal) => woken(channel, waitMs, signal), close: () => close(name, channel) };
  };
}

function woken(channel: Channel, waitMs: number, signal?: AbortSignal): Promise<boolean> {
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
    const wake = (called: boolean) => {
      leave();
      resolve(called);
    };
    const abort = () => {
      leave();
      reject(signal?.reason);
    };
    const timer = setTimeout(wake, waitMs, false);
    channel.waiters.add(wake);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
