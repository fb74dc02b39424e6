/** Work that a command does not wait for after Ctrl-C, because its lab ends anyway. */
import { once } from 'node:events';

/**
 * The result of `work`; rejects with the reason of the signal as soon as it aborts. What goes on
 * then is not waited for.
 */
export async function interruptible<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = new AbortController();
  try {
    return await Promise.race([work, interruption(signal, ended.signal)]);
  } finally {
    ended.abort();
    work.catch(() => {}); // Nobody hears of its errors any more.
  }
}

async function interruption(signal: AbortSignal, ended: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort', { signal: ended });
  throw signal.reason;
}
