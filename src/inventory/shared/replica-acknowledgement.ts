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
import { connectionOf } from '../../connections/redis.ts';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import { ReplicaBehind } from '../../errors.ts';

/** Meanwhile the connection does nothing else, so it is shorter than PURCHASE_ANSWER_MS. */
export const replicaWithinMs = 500;

/** After writes on any connection: waits until a replica has them. @throws ReplicaBehind */
export async function confirmWrites(redis: Redis, shards: readonly ShardKeys[]): Promise<void> {
  const isSure = await new ReplicaAcknowledgement().hasAllOf(redis, shards);
  if (!isSure) throw new ReplicaBehind(replicaWithinMs);
}

export class ReplicaAcknowledgement {
  readonly #shared = new WeakMap<Redis, Promise<number>>();

  /**
   * Remembers the connection, before a write on it. @returns a function to call after its answer.
   */
  begin(redis: Redis): () => Promise<void> {
    const { stream } = redis;
    return async () => {
      const replicas = await this.#wait(redis);
      if (replicas < 1 || redis.stream !== stream) throw new ReplicaBehind(replicaWithinMs);
    };
  }

  /**
   * Waits until a replica has everything that any connection wrote there before: after a write on
   * this one, a replica that has this write has the others too. A message would not do: in a
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
      if (!by) throw new ReplicaBehind(replicaWithinMs);
      await this.confirmAll(by, shard);
    };
    return Promise.all(shards.map(confirm)).then(
      () => true,
      () => false,
    );
  }

  #wait(redis: Redis): Promise<number> {
    const known = this.#shared.get(redis);
    if (known) return known;
    const shared = redis.wait(1, replicaWithinMs);
    this.#shared.set(redis, shared);
    setImmediate(() => this.#shared.delete(redis));
    return shared;
  }
}
