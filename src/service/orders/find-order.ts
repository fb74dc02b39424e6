/** Finds the state of an order from the moment it was accepted, and waits for the final one. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { type RowDataPacket, select } from '../connections/mysql.ts';
import type { ShardKeys } from '../connections/sale-keys.ts';
import type { Order, OrderStatus } from '../domain.ts';

export interface OrderState {
  readonly id: string;
  readonly voucherId: string;
  readonly userId: string;
  readonly status: OrderStatus;
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
  const [row] = await select<Row>(connections.mysql(), `${selectStates} WHERE id = ?`, [id]);
  const silent = shards.find((shard) => shard.status === 'rejected');
  if (!row && silent) throw silent.reason;
  return row ? asState(row) : null;
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

/** Those of the orders that MySQL has, in one query. */
async function recordedStates(
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
  id,
  voucherId,
  userId,
  status,
  ...(reason !== null && { reason }),
});

const lookEveryMs = 200;
const afterErrorMs = 1_000;

/** Called once, with null when no store has the order any more. */
type Settle = (state: OrderState | null) => void;

interface AwaitedOrder {
  readonly id: string;
  readonly waiters: Set<Settle>;
  /** Where it was queued when it was last looked for. Before that every shard is asked. */
  shard?: ShardKeys;
}

function settleAll({ waiters }: AwaitedOrder, state: OrderState | null): void {
  for (const settle of [...waiters]) settle(state);
}

/**
 * Waits for the final states of queued orders. One loop looks for all that wait in this process:
 * one command to each shard of Redis, and one query to MySQL when orders have left the queue. So a
 * thousand waiters cost what one costs, and a worker that dies or starts again changes nothing.
 */
export class FinalStates {
  readonly #connections: Connections;
  readonly #log: Logger;
  readonly #isOpen: () => boolean;
  readonly #awaited = new Map<string, AwaitedOrder>();
  #isLooking = false;

  /** Once `isOpen` is false, nobody waits any longer. */
  constructor(connections: Connections, log: Logger, isOpen: () => boolean) {
    this.#connections = connections;
    this.#log = log;
    this.#isOpen = isOpen;
  }

  /** Resolves with null when `signal` aborts first, the process stops, or the order is lost. */
  of({ id }: Pick<Order, 'id'>, signal: AbortSignal): Promise<OrderState | null> {
    if (signal.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const awaited: AwaitedOrder = this.#awaited.get(id) ?? { id, waiters: new Set() };
      this.#awaited.set(id, awaited);
      const settle: Settle = (state) => {
        signal.removeEventListener('abort', leave);
        awaited.waiters.delete(settle);
        if (awaited.waiters.size === 0) this.#awaited.delete(id);
        resolve(state);
      };
      const leave = () => settle(null);
      signal.addEventListener('abort', leave);
      awaited.waiters.add(settle);
      if (!this.#isLooking) void this.#lookOn();
    });
  }

  /** Until nobody waits. */
  async #lookOn(): Promise<void> {
    this.#isLooking = true;
    while (this.#awaited.size > 0) {
      await sleep(lookEveryMs);
      try {
        if (this.#isOpen()) await this.#look();
        else for (const awaited of this.#awaited.values()) settleAll(awaited, null);
      } catch (error) {
        this.#log.warn({ event: 'final-states-not-read', error: String(error) });
        await sleep(afterErrorMs);
      }
    }
    this.#isLooking = false;
  }

  /** Redis first: an order leaves the queue only after it is recorded. */
  async #look(): Promise<void> {
    const silent: unknown[] = [];
    const left = await this.#notQueued([...this.#awaited.values()], silent);
    if (left.length > 0) await this.#settleRecorded(left);
    if (silent.length > 0) throw silent[0];
  }

  async #settleRecorded(left: readonly AwaitedOrder[]): Promise<void> {
    const ids = left.map(({ id }) => id);
    const states = new Map(
      (await recordedStates(this.#connections, ids)).map((state) => [state.id, state]),
    );
    for (const awaited of left) settleAll(awaited, states.get(awaited.id) ?? null);
  }

  /** An order that is in no shard that answers may be in a silent one. */
  async #notQueued(all: readonly AwaitedOrder[], silent: unknown[]): Promise<AwaitedOrder[]> {
    const { saleKeys } = this.#connections;
    const redis = this.#connections.redis('admin');
    const queued = new Set<AwaitedOrder>();
    const ask = async (shard: ShardKeys, own: readonly AwaitedOrder[]): Promise<void> => {
      const notes = await redis.hmget(shard.queued, ...own.map(({ id }) => id));
      for (const [index, each] of own.entries()) {
        if (notes[index] === null) continue;
        each.shard = shard;
        queued.add(each);
      }
    };
    const asked = saleKeys.shards.map((shard) => {
      const own = all.filter((each) => (each.shard ?? shard) === shard);
      if (own.length === 0) return undefined;
      return ask(shard, own).catch((error: unknown) => {
        silent.push(error);
        for (const each of own) queued.add(each);
      });
    });
    await Promise.all(asked);
    return all.filter((each) => !queued.has(each));
  }
}
