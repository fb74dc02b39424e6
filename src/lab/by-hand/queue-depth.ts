/** How many orders the queue of a rung has, and how many of them an order worker has in hand. */
import type { Connections } from '../../service/connections/connections.ts';
import type { Rung } from '../../service/ladder/rung.ts';

export interface QueueDepth {
  readonly depth: number;
  /** Null: the queue does not say it. */
  readonly inHand: number | null;
  /** True: `depth` leaves out what a worker has in hand. */
  readonly isInHandUncounted: boolean;
}

/** @returns null without a queue that other processes can ask */
export function queueDepthOf(
  connections: Connections,
  rung: Rung,
): (() => Promise<QueueDepth>) | null {
  if (!rung.queue || rung.queueInProcess) return null;
  const queue = rung.queue(connections);
  return async () => ({
    depth: await queue.depth(),
    inHand: (await queue.inHand?.().catch(() => null)) ?? null,
    isInHandUncounted: queue.isInHandUncounted ?? false,
  });
}
