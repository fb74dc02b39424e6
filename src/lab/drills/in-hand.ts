/** What an order worker has in hand, by the consumer groups of all shards. */
import type { Redis } from 'ioredis';
import type { Connections } from '../../service/connections/connections.ts';
import { orderGroup, type ShardKeys } from '../../service/connections/sale-keys.ts';
import type { Order } from '../../service/domain.ts';
import { ordersOfEntry } from '../../service/queues/shared/order-fields.ts';
import { consumersOf } from '../../service/queues/shared/stream-reader.ts';

/** How many consumers have asked for orders; those of other queues with a group, too. */
export async function readers(connections: Connections): Promise<number> {
  const clients = String(await connections.redis('admin').client('LIST')).split('\n');
  return clients.filter((line) => / name=consumer .* cmd=xreadgroup /.test(line)).length;
}

/**
 * For each shard, in their order: the names of the consumers of this process. Redis knows a
 * consumer once it has had an order.
 */
export const ownConsumers = (connections: Connections, pid: number): Promise<string[][]> =>
  ofEachShard(connections, (redis, shard) => namesOf(redis, shard, pid));

/** For each shard, in their order: the orders that are pending for this process. */
export const ordersInHand = (connections: Connections, pid: number): Promise<Order[][]> =>
  ofEachShard(connections, (redis, shard) => pendingFor(redis, shard, pid));

function ofEachShard<T>(
  connections: Connections,
  read: (redis: Redis, shard: ShardKeys) => Promise<T>,
): Promise<T[]> {
  const redis = connections.redis('admin');
  return Promise.all(connections.saleKeys.shards.map((shard) => read(redis, shard)));
}

/** None where no worker reads: the first one makes the group. */
async function namesOf(redis: Redis, { orders }: ShardKeys, pid: number): Promise<string[]> {
  const consumers = await redis.xinfo('CONSUMERS', orders, orderGroup).catch((error: Error) => {
    if (error.message.startsWith('NOGROUP')) return [];
    throw error;
  });
  const names = (consumers as string[][]).map((fields) => fields[fields.indexOf('name') + 1] ?? '');
  return names.filter((name) => name.startsWith(consumersOf(pid)));
}

async function pendingFor(redis: Redis, shard: ShardKeys, pid: number): Promise<Order[]> {
  const { orders } = shard;
  const names = await namesOf(redis, shard, pid);
  const pending = await Promise.all(
    names.map((name) => redis.xpending(orders, orderGroup, '-', '+', pendingMax, name)),
  );
  const ids = (pending.flat() as [id: string][]).map(([id]) => id);
  const entries = await Promise.all(ids.map((id) => redis.xrange(orders, id, id)));
  return entries.flat().flatMap(([, fields]) => ordersOfEntry(fields));
}

const pendingMax = 1_000;
