/**
 * A process may start before its stores, and before the process that makes the tables: its first
 * statements are repeated until they answer. Then it compares its stores. While MySQL is away, it
 * sells what Redis has, and compares them as soon as MySQL is back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { agreeOnDurability } from '../connections/durability.ts';
import { trustRedis } from '../connections/epoch.ts';
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

const lookEveryMs = 1_000;

interface Comparison {
  readonly connections: Connections;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Throws when the stores do not belong together. */
  readonly compare: () => Promise<void>;
}

/**
 * @returns once this process may sell: the end of the comparison. It rejects when the stores,
 *   compared later, do not belong together: then nothing may be sold any more.
 * @throws the error of the comparison; and that of MySQL, when Redis does not have all it needs.
 */
export async function compareStores(comparison: Comparison): Promise<{ ended: Promise<void> }> {
  const { connections, log, compare } = comparison;
  try {
    await compare();
    return { ended: Promise.resolve() };
  } catch (error) {
    if (!isStoreUnavailable(error) || !(await trustRedis(connections))) throw error;
    await agreeOnDurability(connections, log);
    log.error({ event: 'started-without-mysql', error: String(error), meaning });
    return { ended: compareLater(comparison, String(error)) };
  }
}

const meaning = 'Vouchers that Redis knows are sold, and their orders wait until MySQL is back.';

/** @param known what the log has said already. */
async function compareLater({ log, signal, compare }: Comparison, known: string): Promise<void> {
  let said = known;
  while (!signal.aborted) {
    await sleep(lookEveryMs, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    try {
      await compare();
      log.info({ event: 'mysql-is-back' });
      return;
    } catch (error) {
      if (signal.aborted) return;
      const why = String(error);
      // Any other error may be over at the next look.
      if (isServiceError(error, 'EPOCHS_DIFFER', 'SALE_SHARDS_DIFFER')) {
        log.fatal({ event: 'stores-differ', error: why });
        throw error;
      }
      if (why !== said) log.warn({ event: 'stores-not-compared', error: why });
      said = why;
    }
  }
}
