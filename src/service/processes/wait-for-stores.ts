/**
 * A process may start before its stores, and before the process that makes the tables: its first
 * statements are repeated until they answer.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isStoreUnavailable } from '../connections/store-errors.ts';
import { isServiceError } from '../errors.ts';

const pauseMs = 500;

/**
 * Runs `work`, and runs it again while a store does not answer or has no tables.
 * @returns what `work` returned; undefined when `signal` aborted first.
 * @throws the error of `work` when it is another one, or after `withinMs`.
 */
export async function onceStoresAnswer<T>(
  work: () => Promise<T>,
  withinMs: number,
  log: Logger,
  signal: AbortSignal,
): Promise<T | undefined> {
  const deadline = performance.now() + withinMs;
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      const isWorthATry = isStoreUnavailable(error) || isServiceError(error, 'TABLES_MISSING');
      if (!isWorthATry || performance.now() + pauseMs > deadline) throw error;
      log.warn({ event: 'store-not-ready', error: String(error) });
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }
  return undefined;
}
