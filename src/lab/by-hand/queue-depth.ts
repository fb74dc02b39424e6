/** How many orders the queue of a rung has, and how many of them an order worker has in hand. */
import type { Connections } from '../../connections/connections.ts';
import { orderGroup } from '../../connections/sale-keys.ts';
import type { Rung } from '../../ladder/rung.ts';

export interface QueueDepth {
  readonly depth: number;
  /** Null: only a stream with a group says it. */
  readonly inHand: number | null;
}

/** @returns null without a queue that other processes can ask */
export function queueDepthOf(
  connections: Connections,
  rung: Rung,
): (() => Promise<QueueDepth>) | null {
  if (!rung.queue || rung.queueInProcess) return null;
  const queue = rung.queue(connections);
  const { shards } = connections.saleKeys;
  const redis = connections.redis('admin');
  const pendingOf = async (stream: string) => {
    const [count] = (await redis.xpending(stream, orderGroup)) as [number];
    return count;
  };
  const inHand = async () => {
    if (!queue.oldest) return null;
    const counts = await Promise.all(shards.map(({ orders }) => pendingOf(orders)));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  return async () => ({ depth: await queue.depth(), inHand: await inHand().catch(() => null) });
}
