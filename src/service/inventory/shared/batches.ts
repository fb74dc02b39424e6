/**
 * Batches of one key run one at a time in this process. The first item waits `gatherMs` for others;
 * while a batch runs, the next one gathers, and begins when the batch is done. So the line is
 * limited in length and in time: behind slow batches, an item would wait for all of them.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

export interface BatchLimits {
  /**
   * How long the first item waits for others when no batch runs. 0: until this turn of the event
   * loop has read everything that has arrived.
   */
  readonly gatherMs: number;
  readonly batchSize: number;
  /** The most items of one key that wait for their batch. */
  readonly waitingMax: number;
  /** The longest that an item waits until its batch begins. */
  readonly waitMs: number;
}

export interface BatchWork<Item> {
  /** Settles every item of its batch, and does not reject. */
  readonly run: (items: readonly Item[]) => Promise<void>;
  /** Settles an item that is in no batch: too many waited already, or it waited too long. */
  readonly refuse: (item: Item) => void;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly cameAtMs: number;
}

export function batches<Item>(
  { run, refuse }: BatchWork<Item>,
  { gatherMs, batchSize, waitingMax, waitMs }: BatchLimits,
): (key: string, item: Item) => void {
  const waiting = new Map<string, Waiting<Item>[]>();

  async function runAll(key: string, line: Waiting<Item>[]): Promise<void> {
    await (gatherMs === 0 ? nextTurn() : sleep(gatherMs));
    while (line.length > 0) {
      const items = inTime(line.splice(0, batchSize));
      if (items.length > 0) await run(items);
    }
    waiting.delete(key);
  }

  /** Refuses the others. */
  function inTime(all: readonly Waiting<Item>[]): Item[] {
    const earliestMs = performance.now() - waitMs;
    const items: Item[] = [];
    for (const { item, cameAtMs } of all)
      if (cameAtMs < earliestMs) refuse(item);
      else items.push(item);
    return items;
  }

  return (key, item) => {
    const line = waiting.get(key);
    if (line && line.length >= waitingMax) return refuse(item);
    const last = { item, cameAtMs: performance.now() };
    if (line) line.push(last);
    else {
      const first = [last];
      waiting.set(key, first);
      void runAll(key, first);
    }
  };
}
