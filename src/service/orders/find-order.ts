/** Finds the state of an order, from the moment it was accepted. */
import type { Connections } from '../connections/connections.ts';
import { type RowDataPacket, select } from '../connections/mysql.ts';
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
 * Redis first, then MySQL: an order leaves the queue only after it is recorded, so it is always
 * found in one of them.
 * @throws the error of Redis when a shard did not answer and the order is in no other place.
 */
export async function findOrder(connections: Connections, id: string): Promise<OrderState | null> {
  const shards = await askShards(connections, id);
  for (const { value } of shards.filter((shard) => shard.status === 'fulfilled'))
    if (value !== null) return queuedOrder(id, value);
  const recorded = await findRecorded(connections, id);
  const silent = shards.find((shard) => shard.status === 'rejected');
  if (!recorded && silent) throw silent.reason;
  return recorded;
}

/** An order id does not name its shard, so every shard is asked. */
function askShards(connections: Connections, id: string) {
  const redis = connections.redis('admin');
  return Promise.allSettled(
    connections.saleKeys.shards.map(({ queued }) => redis.hget(queued, id)),
  );
}

function queuedOrder(id: string, value: string): OrderState {
  const [voucherId = '', userId = ''] = value.split(':');
  return { id, voucherId, userId, status: 'queued' };
}

async function findRecorded(connections: Connections, id: string): Promise<OrderState | null> {
  const [row] = await select<Row>(connections.mysql(), `${selectStates} WHERE id = ?`, [id]);
  return row ? asState(row) : null;
}

/** Those of the orders that MySQL has, in one query. */
export async function recordedStates(
  connections: Connections,
  ids: readonly string[],
): Promise<OrderState[]> {
  // `query`, not `execute`: each number of ids would add another prepared statement to the cache.
  const statement = `${selectStates} WHERE id IN (?)`;
  const [rows] = await connections.mysql().query<(Row & RowDataPacket)[]>(statement, [ids]);
  return rows.map(asState);
}

interface Row extends Omit<OrderState, 'reason'> {
  readonly reason: string | null;
}

const selectStates = `
  SELECT CAST(id AS CHAR) AS id, CAST(voucher_id AS CHAR) AS voucherId,
         CAST(user_id AS CHAR) AS userId, status, reason
  FROM orders`;

const asState = ({ id, voucherId, userId, status, reason }: Row): OrderState => ({
  ...{ id, voucherId, userId, status },
  ...(reason !== null && { reason }),
});
