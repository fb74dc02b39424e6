/** After a load: the facts of a voucher once its orders are recorded. */

import { setTimeout as sleep } from 'node:timers/promises';
import { collectFacts, queuedIn, salePlaceOf } from '../../service/audit/collect.ts';
import { confirmed, type Facts } from '../../service/audit/facts.ts';
import type { Connections } from '../../service/connections/connections.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { labError } from '../errors.ts';

const drainWithinMs = 30_000;
/** Longer than a killed worker takes to be replaced. */
const quietMs = 5_000;
const lookEveryMs = 100;

/** After the deadline the facts as they are: the audit then says "unknown". */
export async function drained(connections: Connections, voucherId: string): Promise<Facts> {
  const [facts] = await allDrained(connections, [voucherId]);
  return facts as Facts;
}

/** Of a queue that notes its orders. After the deadline the audit says "unknown". */
export async function ownQueueEmpty(connections: Connections, voucherId: string): Promise<void> {
  const sale = await salePlaceOf(connections, voucherId);
  if (!sale) throw labError('UNKNOWN_VOUCHER', voucherId);
  const redis = connections.redis('admin');
  const isEmpty = async () => (await queuedIn(redis, sale)).length === 0;
  await waitUntil('its queue to drain', drainWithinMs, isEmpty).catch(() => {});
}

/** The facts of several vouchers, in this order, after one wait. */
export async function allDrained(
  connections: Connections,
  voucherIds: readonly string[],
  withinMs = drainWithinMs,
): Promise<Facts[]> {
  const redis = connections.redis('admin');
  const queues = connections.saleKeys.shards.map(({ queued }) => queued);
  const areEmpty = async () => {
    const depths = await Promise.all(queues.map((queued) => redis.hlen(queued)));
    return depths.every((depth) => depth === 0);
  };
  await waitUntil('the queue to drain', withinMs, areEmpty).catch(() => {});
  const all: Facts[] = [];
  for (const voucherId of voucherIds) all.push(await onceComplete(connections, voucherId));
  return all;
}

/**
 * Not every queue notes its orders as queued. So they are waited for: until every buyer has one, or
 * until nothing was recorded for a while.
 */
async function onceComplete(connections: Connections, voucherId: string): Promise<Facts> {
  let facts = await factsOf(connections, voucherId);
  let recorded = facts.mysql.orders.length;
  let changedAt = performance.now();
  while (mayMiss(facts) && performance.now() - changedAt < quietMs) {
    await sleep(lookEveryMs);
    facts = await factsOf(connections, voucherId);
    if (facts.mysql.orders.length === recorded) continue;
    recorded = facts.mysql.orders.length;
    changedAt = performance.now();
  }
  return facts;
}

/** As they are now. @throws UNKNOWN_VOUCHER */
export async function factsOf(connections: Connections, voucherId: string): Promise<Facts> {
  const facts = await collectFacts(connections, voucherId);
  if (!facts) throw labError('UNKNOWN_VOUCHER', voucherId);
  return facts;
}

function mayMiss(facts: Facts): boolean {
  const users = new Set(confirmed(facts).map(({ userId }) => userId));
  return Object.keys(facts.redis?.buyers ?? {}).some((userId) => !users.has(userId));
}
