/**
 * Waits until a replica has the orders that Redis has accepted (WAIT). The master answers before it
 * replicates, so without this an accepted order can be lost with its master.
 *
 * WAIT is about the writes of its own connection, and on a new one it is true at once. So it is
 * sent after the answer to the write, and counts only if the connection is still the same.
 * Purchases that are answered in one turn of the event loop share one WAIT: it comes after the
 * writes of all.
 */
import type { Redis } from 'ioredis';
import { ReplicaBehind } from '../../errors.ts';

/** Meanwhile the connection does nothing else, so it is shorter than PURCHASE_ANSWER_MS. */
export const replicaWithinMs = 500;

export class ReplicaAcknowledgement {
  readonly #redis: Redis;
  #shared: Promise<number> | undefined;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** Remembers the connection, before a write. @returns a function to call after its answer. */
  begin(): () => Promise<void> {
    const { stream } = this.#redis;
    return async () => {
      const replicas = await this.#wait();
      if (replicas < 1 || this.#redis.stream !== stream) throw new ReplicaBehind(replicaWithinMs);
    };
  }

  #wait(): Promise<number> {
    if (this.#shared) return this.#shared;
    this.#shared = this.#redis.wait(1, replicaWithinMs);
    setImmediate(() => {
      this.#shared = undefined;
    });
    return this.#shared;
  }
}
