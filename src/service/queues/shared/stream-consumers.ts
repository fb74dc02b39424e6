/** Consumers have a new name at each start, so the names of dead processes must be removed. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import { orderGroup, type ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';

const remove = loadScript('sale/remove-consumers');

/** How the consumers of a process of this machine are named. */
export const consumersOf = (pid: number): string => `${hostname()}-${pid}-`;

/** New at each start: what is pending under this name is this consumer's, and nobody else's. */
export const newConsumer = (): string => `${consumersOf(process.pid)}${randomUUID()}`;

/**
 * Removes consumers that were idle for at least this time: all of them, or one. Consumers with
 * pending orders stay. A live consumer that is removed comes back with its next read.
 */
export async function removeConsumers(
  redis: Redis,
  { orders }: ShardKeys,
  leastIdleMs: number,
  only = '',
): Promise<void> {
  await runScript(redis, remove, [orders], [orderGroup, String(leastIdleMs), only]);
}
