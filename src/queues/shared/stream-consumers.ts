/** Consumers have a new name at each start, so the names of dead processes must be removed. */
import type { Redis } from 'ioredis';
import { orderGroup, type ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';

const remove = loadScript('sale/remove-consumers');

/**
 * Removes consumers that were idle for so long: all of them, or one. Those with pending orders
 * stay. A live consumer that is removed comes back with its next read.
 */
export async function removeConsumers(
  redis: Redis,
  { orders }: ShardKeys,
  leastIdleMs: number,
  only = '',
): Promise<void> {
  await runScript(redis, remove, [orders], [orderGroup, String(leastIdleMs), only]);
}
