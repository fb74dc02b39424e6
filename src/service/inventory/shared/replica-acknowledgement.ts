/**
 * Waits until the replicas have the orders that Redis has accepted (WAIT). The master answers
 * before it replicates, so without this an accepted order can be lost with its master. All
 * replicas: with one fewer, the one that has not the order may be promoted.
 *
 * WAIT is about the writes of its own connection, and on a new one it is true at once. So it is
 * sent after the answer to the write, and counts only if the connection is still the same.
 * Purchases that are answered in one turn of the event loop share one WAIT: it comes after the
 * writes of all.
 */

import type { Redis } from 'ioredis';
import { connectionOf } from '../../connections/redis-cluster.ts';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import { type LockstepError, serviceError } from '../../errors.ts';

/** Meanwhile the connection does nothing else, so it is shorter than PURCHASE_ANSWER_MS. */
export const replicaWithinMs = 500;

/** After writes on any connection: waits until the replicas have them. @throws REPLICA_BEHIND */
export async function confirmWrites(
  redis: Redis,
  shards: readonly ShardKeys[],
  replicas: number,
): Promise<void> {
  const isSure = await new ReplicaAcknowledgement(replicas).hasAllOf(redis, shards);
  if (!isSure) throw serviceError('REPLICA_BEHIND', replicas, replicaWithinMs);
}

export class ReplicaAcknowledgement {
  readonly #replicas: number;
  readonly #shared = new WeakMap<Redis, Promise<number>>();

  /** @param replicas of each master. */
  constructor(replicas: number) {
    this.#replicas = replicas;
  }

  /**
   * Remembers the connection, before a write on it. @returns a function to call after its answer.
   */
  begin(redis: Redis): () => Promise<void> {
    const { stream } = redis;
    return async () => {
      const confirmed = await this.#wait(redis);
      if (confirmed < this.#replicas || redis.stream !== stream) throw this.#behind();
    };
  }

  /**
   * Waits until the replicas have everything that any connection wrote there before: after a write
   * on this one, a replica that has this write has the others too. A message would not do: in a
   * cluster, it takes another way to the replicas.
   */
  async confirmAll(redis: Redis, { queue }: ShardKeys): Promise<void> {
    const whenReplicated = this.begin(redis);
    await redis.set(queue('repeated'), '');
    await whenReplicated();
  }

  /** The same for several shards, each by its master. @returns false when one is not confirmed. */
  async hasAllOf(redis: Redis, shards: readonly ShardKeys[]): Promise<boolean> {
    const confirm = async (shard: ShardKeys) => {
      const by = connectionOf(redis, shard.epoch);
      if (!by) throw this.#behind();
      await this.confirmAll(by, shard);
    };
    return Promise.all(shards.map(confirm)).then(
      () => true,
      () => false,
    );
  }

  #behind(): LockstepError {
    return serviceError('REPLICA_BEHIND', this.#replicas, replicaWithinMs);
  }

  #wait(redis: Redis): Promise<number> {
    const known = this.#shared.get(redis);
    if (known) return known;
    const shared = redis.wait(this.#replicas, replicaWithinMs);
    this.#shared.set(redis, shared);
    setImmediate(() => this.#shared.delete(redis));
    return shared;
  }
}
