/** Opens the generator of order ids that the configuration names (ORDER_IDS). */
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import type { OrderIds } from './order-ids.ts';
import { openRedisWorker } from './redis-worker.ts';
import { openSnowflakes } from './snowflake.ts';

/** @throws WORKER_ID_UNAVAILABLE when all worker ids are taken. */
export async function openOrderIds(connections: Connections, log: Logger): Promise<OrderIds> {
  switch (connections.config.ORDER_IDS) {
    case 'snowflake':
      return openSnowflakes(connections.redis('admin'), log);
    case 'redis-worker':
      return openRedisWorker(connections.redis('purchase'), log);
  }
}
