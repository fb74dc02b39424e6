/**
 * Batches of one key run one at a time in this process. The first item waits `gatherMs` for others;
 * while a batch runs, the next one gathers, and begins when the batch is done.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

export interface BatchLimits {
  /**
   * How long the first item waits for others when no batch runs. 0: until this turn of the event
   * loop has read everything that has arrived.
   */
  readonly gatherMs: number;
  /** The most items of one batch. */
  readonly batchSize: number;
  /** The most items of one key that wait for their batch. */
  readonly mostWaiting: number;
}

/** @returns false, and the item is not in a batch, when too many wait already. */
export type AddToBatch<Item> = (key: string, item: Item) => boolean;

/** `run` settles every item of its batch, and does not reject. */
export function batches<Item>(
  run: (items: readonly Item[]) => Promise<void>,
  { gatherMs, batchSize, mostWaiting }: BatchLimits,
): AddToBatch<Item> {
  const waiting = new Map<string, Item[]>();

  async function runAll(key: string, items: Item[]): Promise<void> {
    await (gatherMs === 0 ? nextTurn() : sleep(gatherMs));
    while (items.length > 0) await run(items.splice(0, batchSize));
    waiting.delete(key);
  }

  return (key, item) => {
    const items = waiting.get(key);
    if (items && items.length >= mostWaiting) return false;
    if (items) items.push(item);
    else {
      const first = [item];
      waiting.set(key, first);
      void runAll(key, first);
    }
    return true;
  };
}
