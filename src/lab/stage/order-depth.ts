/** How much the queue of a rung has left. */
import type { Connections } from '../../service/connections/connections.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';

/** The number of accepted orders that are not in MySQL yet; 0 for a rung without a queue. */
export function orderDepth(connections: Connections, rung: string): () => Promise<number> {
  const queue = rungNamed(rung).queue?.(connections);
  return async () => queue?.depth() ?? 0;
}
