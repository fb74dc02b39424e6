/**
 * Whether the stores can do what a purchase and an order worker need. An answer to PING would not
 * show it: a replica and a full server answer it too. Nothing is changed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { Connections } from './connections.ts';
import { change, takesNoWrites } from './mysql.ts';
import { loadScript, runScript } from './scripts.ts';

const answerWithinMs = 2_000;

/**
 * On the connection of the purchases: a write that changes nothing. Redis refuses it when it would
 * refuse a purchase: on a replica, without memory, or without the replicas that it must have. With
 * several shards, one that takes it is enough: its vouchers are sold.
 */
export function takesPurchases(connections: Connections): Promise<boolean> {
  const redis = connections.redis('purchase');
  const writes = connections.saleKeys.shards.map(({ epoch }) => redis.setrange(epoch, 0, ''));
  return answersSoon(Promise.any(writes));
}

/** Whether Redis has the data that this process sells. With several shards, one is enough. */
export async function isInEpoch(connections: Connections): Promise<boolean> {
  const { epoch, saleKeys } = connections;
  if (epoch.value === '') return true;
  const redis = connections.redis('admin');
  const found = await Promise.all(
    saleKeys.shards.map((shard) => redis.get(shard.epoch).catch(() => epoch.value)),
  );
  if (found.includes(epoch.value)) return true;
  epoch.refresh();
  return false;
}

export type MysqlState = 'writable' | 'read-only' | 'unanswered';

/**
 * By a write that changes nothing: MySQL refuses it while it is read-only. It is about no row,
 * because a worker that records orders has the row of the epoch locked.
 */
export const mysqlState = (connections: Connections): Promise<MysqlState> =>
  soon(change(connections.mysql(), 'UPDATE store_epoch SET value = value WHERE id = 0', [])).then(
    () => 'writable',
    (error: unknown) => (takesNoWrites(error) ? 'read-only' : 'unanswered'),
  );

export const recordsOrders = async (connections: Connections): Promise<boolean> =>
  (await mysqlState(connections)) === 'writable';

const oldestOrder = loadScript('sale/oldest-order');

/**
 * For how long the oldest accepted order waits to be recorded, in milliseconds of Redis's clock;
 * null when none waits, or while Redis does not say. It also shows what no probe can: a full MySQL
 * takes other writes than an order. A shard that does not answer does not hide the others.
 */
export async function oldestOrderMs(connections: Connections): Promise<number | null> {
  const redis = connections.redis('admin');
  const answers = connections.saleKeys.shards.map(({ orders }) =>
    soon(runScript(redis, oldestOrder, [orders], [])).catch(() => ['none']),
  );
  const waited = (await Promise.all(answers)).map((answer) => (answer as [string, number?])[1]);
  const known = waited.filter((ms) => ms !== undefined);
  return known.length === 0 ? null : Math.max(...known);
}

const answersSoon = (answer: Promise<unknown>): Promise<boolean> =>
  soon(answer).then(
    () => true,
    () => false,
  );

export const soon = <T>(answer: Promise<T>): Promise<T> => Promise.race([answer, timeout()]);

async function timeout(): Promise<never> {
  await sleep(answerWithinMs, undefined, { ref: false });
  throw new Error('no answer in time');
}

/** Asks on connections that are opened for it, and closed afterwards. */
export async function onNewConnections<T>(
  config: Config,
  log: Logger,
  ask: (opened: Connections) => Promise<T>,
): Promise<T> {
  const opened = new Connections(config, log);
  try {
    return await ask(opened);
  } finally {
    opened.close().catch(() => {}); // Not awaited: a silent MySQL would be waited for.
  }
}
