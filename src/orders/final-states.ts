/**
 * Waits for the final states of queued orders. One loop looks for all that wait in this process:
 * one command to each shard of Redis, and one query to MySQL when orders have left the queue. So a
 * thousand waiters cost what one costs, and a worker that dies or starts again changes nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { buyerPlaces, type SaleKeys, type ShardKeys } from '../connections/sale-keys.ts';
import type { Order } from '../domain.ts';
import { type OrderState, recordedStates } from './find-order.ts';

const lookEveryMs = 200;
const afterErrorMs = 1_000;

type Queued = Omit<Order, 'requestId'>;
/** Called once, with null when no store has the order any more. */
type Settle = (state: OrderState | null) => void;

interface Awaited extends Queued {
  readonly waiters: Set<Settle>;
}

function settleAll({ waiters }: Awaited, state: OrderState | null): void {
  for (const settle of [...waiters]) settle(state);
}

export class FinalStates {
  readonly #connections: Connections;
  readonly #log: Logger;
  readonly #isOpen: () => boolean;
  readonly #awaited = new Map<string, Awaited>();
  #isLooking = false;

  /** Once `isOpen` is false, nobody waits any longer. */
  constructor(connections: Connections, log: Logger, isOpen: () => boolean) {
    this.#connections = connections;
    this.#log = log;
    this.#isOpen = isOpen;
  }

  /** Resolves with null when `signal` aborts first, the process stops, or the order is lost. */
  of({ id, voucherId, userId }: Queued, signal: AbortSignal): Promise<OrderState | null> {
    if (signal.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const awaited = this.#awaited.get(id) ?? { id, voucherId, userId, waiters: new Set() };
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
    const left = await this.#notQueued([...this.#awaited.values()]);
    if (left.length === 0) return;
    const ids = left.map(({ id }) => id);
    const states = new Map(
      (await recordedStates(this.#connections, ids)).map((state) => [state.id, state]),
    );
    for (const awaited of left) settleAll(awaited, states.get(awaited.id) ?? null);
  }

  async #notQueued(all: readonly Awaited[]): Promise<Awaited[]> {
    const { saleKeys } = this.#connections;
    const redis = this.#connections.redis('admin');
    const queued = new Set<string>();
    await Promise.all(
      saleKeys.shards.map(async (shard) => {
        const own = all.filter((each) => mayBeIn(saleKeys, shard, each)).map(({ id }) => id);
        if (own.length === 0) return;
        const notes = await redis.hmget(shard.queued, ...own);
        for (const [index, id] of own.entries()) if (notes[index] !== null) queued.add(id);
      }),
    );
    return all.filter(({ id }) => !queued.has(id));
  }
}

const mayBeIn = (keys: SaleKeys, shard: ShardKeys, { voucherId, userId }: Queued): boolean =>
  buyerPlaces(keys, voucherId, userId).some(({ queued }) => queued === shard.queued);
