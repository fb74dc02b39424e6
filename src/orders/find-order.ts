/** Finds the state of an order, from the moment it was accepted. */
import type { Connections } from '../connections/connections.ts';
import { select } from '../connections/mysql.ts';
import type { OrderStatus } from '../domain.ts';

export interface OrderState {
  readonly id: string;
  readonly voucherId: string;
  readonly userId: string;
  readonly status: OrderStatus;
  /** The reason, when the order failed. */
  readonly reason?: string;
}

/**
 * Redis first, then MySQL. An order leaves the queue only after it is recorded, so one of the two
 * always has it.
 */
export async function findOrder(connections: Connections, id: string): Promise<OrderState | null> {
  const queued = await findQueued(connections, id);
  if (queued !== null) {
    const [voucherId = '', userId = ''] = queued.split(':');
    return { id, voucherId, userId, status: 'queued' };
  }
  const [row] = await select<OrderState & { reason: string | null }>(
    connections.mysql(),
    `SELECT CAST(id AS CHAR) AS id, CAST(voucher_id AS CHAR) AS voucherId,
            CAST(user_id AS CHAR) AS userId, status, reason
     FROM orders WHERE id = ?`,
    [id],
  );
  if (!row) return null;
  const { reason, ...state } = row;
  return reason === null ? state : { ...state, reason };
}

/** An order id does not name its shard, so every shard is asked. */
async function findQueued(connections: Connections, id: string): Promise<string | null> {
  const redis = connections.redis('admin');
  const found = await Promise.all(
    connections.saleKeys.shards.map(({ queued }) => redis.hget(queued, id)),
  );
  return found.find((each) => each !== null) ?? null;
}
