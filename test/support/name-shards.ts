/** The number of shards of a Redis that tests share: they fill it with different ones. */
import { Redis } from 'ioredis';
import { saleKeys } from '../../src/connections/sale-keys.ts';

/** Before a service starts with these settings. A Redis Cluster is not shared. */
export async function nameShards(settings: Readonly<Record<string, string>>): Promise<void> {
  const { REDIS_URL, REDIS_CLUSTER, SALE_SHARDS = '1' } = settings;
  const [first] = saleKeys(1).shards;
  if (REDIS_URL === undefined || REDIS_CLUSTER === '1' || !first) return;
  const redis = new Redis(REDIS_URL, { lazyConnect: true });
  redis.on('error', () => {}); // The command has it.
  await redis
    .connect()
    .then(() => redis.set(first.shardCount, SALE_SHARDS))
    .catch(() => {}); // The test is about a service without it.
  redis.disconnect();
}
