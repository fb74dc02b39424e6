/** Work that a command does not wait for after Ctrl-C. */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The result of `work`; rejects with the reason of the signal when it aborts, and `work` has not
 * ended `graceMs` later. What goes on then is not waited for.
 */
export async function interruptible<T>(
  work: Promise<T>,
  signal: AbortSignal,
  graceMs = 0,
): Promise<T> {
  let giveUp = (): void => {};
  const interrupted = new Promise<never>((_, reject) => {
    giveUp = () => void sleep(graceMs).then(() => reject(signal.reason));
  });
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([work, interrupted]);
  } finally {
    signal.removeEventListener('abort', giveUp);
    work.catch(() => {}); // Nobody hears of its errors any more.
  }
}
