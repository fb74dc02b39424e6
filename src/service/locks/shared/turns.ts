/**
 * Serialises work by name: the next begins when the one before it is finished, whatever its result.
 */
import type { AcquireOptions } from '../lock.ts';
import { inTime } from './deadlines.ts';

interface Queue {
  /** Resolves when all work that came so far is finished or has given up. */
  finished: Promise<true>;
  length: number;
}

export class Turns {
  readonly #queues = new Map<string, Queue>();

  /** True while work of this name runs or waits for its turn. */
  isTaken(name: string): boolean {
    return this.#queues.has(name);
  }

  async inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const { before, end } = this.#join(name);
    try {
      await before;
      return await work();
    } finally {
      end();
    }
  }

  /** @returns null when the turn did not come within `waitMs`. @throws the abort reason */
  async inTurnWithin<T>(
    { waitMs, signal }: AcquireOptions,
    name: string,
    work: () => Promise<T>,
  ): Promise<T | null> {
    const { before, end } = this.#join(name);
    try {
      if (before && !(await inTime(before, waitMs, signal))) return null;
      return await work();
    } finally {
      end();
    }
  }

  /** `before` is undefined when the turn has come at once. */
  #join(name: string): { before: Promise<true> | undefined; end: () => void } {
    const queue = this.#queues.get(name) ?? { finished: Promise.resolve(true), length: 0 };
    this.#queues.set(name, queue);
    const before = queue.length > 0 ? queue.finished : undefined;
    let finish = () => {};
    const own = new Promise<true>((resolve) => {
      finish = () => resolve(true);
    });
    queue.finished = queue.finished.then(() => own);
    queue.length += 1;
    const end = () => {
      finish();
      queue.length -= 1;
      if (queue.length === 0) this.#queues.delete(name);
    };
    return { before, end };
  }
}
