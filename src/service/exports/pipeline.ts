/**
 * `import { … } from 'lockstep/pipeline'`: the last rung, for a program of your own. One Lua script
 * sells, and a stream delivers each order to your handler, once or again until it is settled.
 */

import { type Redis, ReplyError } from 'ioredis';
import { readSale } from '../connections/read-sale.ts';
import { saleKeys } from '../connections/sale-keys.ts';
import { isId, type Order, type Outcome, type RefusalReason, type Voucher } from '../domain.ts';
import { isServiceError, OptionInvalid, PurchaseInvalid } from '../errors.ts';
import { luaStream } from '../inventory/lua-stream.ts';
import { idInUse } from '../inventory/shared/claims.ts';
import { freeLease } from '../locks/none.ts';
import type { Handle, Hooks, OrderQueue } from '../queues/order-queue.ts';
import { redisStreamGroupQueue, type StreamGroupOptions } from '../queues/redis-stream-group.ts';
import { asFields, readOrder } from '../queues/shared/order-fields.ts';

export { LockstepError } from '../errors.ts';
export type { Delivery, Discard, Handle, Hooks, Poison } from '../queues/order-queue.ts';
export type { Order, Outcome, RefusalReason, StreamGroupOptions };
export { OptionInvalid, PurchaseInvalid };

/** What `salePipeline` takes beside its client. */
export interface PipelineOptions extends StreamGroupOptions {
  /** Before every key; nothing without it. It has no braces: those of the keys name their slot. */
  readonly keyPrefix?: string;
  /** How many replicas of Redis must have a purchase: every replica that may be promoted. */
  readonly waitForReplicas?: number;
}

/** What is sold, and when. */
export interface Sale {
  /** A decimal number from 1 to 2^63-1. */
  readonly id: string;
  /** The whole stock, sold units included. */
  readonly stock: number;
  readonly beginTime: Date;
  readonly endTime: Date;
}

/** Sells in Redis, and delivers the orders. */
export interface SalePipeline {
  /**
   * Before the first purchase. A further call with the same sale changes nothing: every process may
   * call it when it starts.
   * @throws PurchaseInvalid, also when another sale has this id: its stock or times differ.
   */
  prepare(sale: Sale): Promise<void>;
  /**
   * One to each user. A repeated order with the same `requestId` gets the id of the first one. The
   * outcome is `unknown` when the answer was lost: repeat the order. It is `not-ready`, and nothing
   * was sent, while the client is not connected.
   * @param order its ids are decimal, from 1 to 2^63-1; `id` is never used twice, also in another
   *   sale; `requestId` has 1 to 64 visible ASCII characters
   * @param sale as it was prepared
   * @throws PurchaseInvalid, also when another order that waits has this id
   */
  sell(order: Order, sale: Sale): Promise<Outcome>;
  /** The stock that is left; null when Redis does not know the sale. @throws PurchaseInvalid */
  remaining(voucherId: string): Promise<number | null>;
  /**
   * Delivers orders to `handle` until `signal` aborts; then it finishes the batch in hand. Any
   * number of processes may consume. Each order is delivered to one of them, and again, to any of
   * them, when it was not settled within `claimIdleMs`. An entry of the stream that is no order is
   * given to `hooks.discard`.
   * @throws the error of `handle` or `discard`: what it had is delivered again; and an error that
   *   no new connection mends: no permission, a key of a wrong type, a client that was closed. Of
   *   any other error, `hooks.onError` is told, and it goes on.
   */
  consume(handle: Handle, signal: AbortSignal, hooks?: Hooks): Promise<void>;
  /** How many orders are not settled. */
  depth(): Promise<number>;
  /**
   * After its end, when its orders are settled: nothing else removes its keys.
   * @throws PurchaseInvalid
   */
  remove(voucherId: string): Promise<void>;
}

/**
 * For the client: it sends no command again, and does not wait for an answer without end.
 *
 *     const redis = new Redis(url, clientOptions);
 */
export const clientOptions = {
  maxRetriesPerRequest: 0,
  commandTimeout: 2_000,
  socketTimeout: 2_000,
} as const;

/**
 * A pipeline on your client: one for each client.
 * @param redis with `clientOptions`; a consumer makes a copy of it.
 * @throws OptionInvalid
 */
export function salePipeline(redis: Redis, options: PipelineOptions = {}): SalePipeline {
  const { keyPrefix = '', waitForReplicas = 0, ...ofStream } = options;
  checkOptions({ ...ofStream, waitForReplicas });
  const keys = saleKeys(1, 1, keyPrefix);
  const inventory = luaStream(redis, keys, { waitForReplicas });
  const queue = redisStreamGroupQueue(redis, keys, ofStream);

  /** In one step: those that are sold meanwhile are counted once. */
  async function isPrepared({ id, stock, beginTime, endTime }: Sale): Promise<boolean> {
    const { sale, buyers } = await readSale(redis, keys.of(id), id);
    const asked = [beginTime.getTime(), endTime.getTime(), stock - buyers];
    return String([sale['beginMs'], sale['endMs'], sale['stock']]) === String(asked);
  }

  return {
    prepare: async (sale) => {
      try {
        await inventory.prepare(asVoucher(sale));
      } catch (error) {
        if (!isServiceError(error, 'VOUCHER_ID_TAKEN')) throw error;
        if (!(await isPrepared(sale)))
          throw new PurchaseInvalid(`another sale has the id ${sale.id}`);
      }
    },
    sell: async (order, sale) => {
      const read = readOrder(asFields(order));
      if ('cause' in read) throw new PurchaseInvalid(read.cause);
      if (order.voucherId !== sale.id) throw new PurchaseInvalid('voucherId is not the sale’s id');
      const outcome = await inventory.sell(order, asVoucher(sale), freeLease);
      if (outcome === idInUse) throw new PurchaseInvalid('the id belongs to another order');
      return outcome;
    },
    remaining: async (id) => inventory.remaining({ id: asId(id) }),
    consume: (handle, signal, hooks) => consumeUntilError({ redis, queue }, handle, signal, hooks),
    depth: queue.depth,
    remove: async (id) => {
      const { voucher, buyers } = keys.of(asId(id));
      await redis.unlink(voucher(id), buyers(id));
    },
  };
}

/** The queue itself would deliver again and again, and nobody would know why. */
async function consumeUntilError(
  { redis, queue: { consume } }: { readonly redis: Redis; readonly queue: OrderQueue },
  handle: Handle,
  signal: AbortSignal,
  hooks: Hooks = {},
): Promise<void> {
  const failed = new AbortController();
  const orFail = async <T>(work: () => Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      failed.abort(error);
      return otherwise;
    }
  };
  const { discard = async () => true, onError = () => {} } = hooks;
  const tell = (error: unknown) => {
    try {
      onError(error);
    } catch (cause) {
      failed.abort(cause);
    }
  };
  const ends = AbortSignal.any([signal, failed.signal]);
  const guarded: Handle = (deliveries) =>
    orFail(async () => asSet(await handle(deliveries)), new Set<string>());
  await consume(guarded, ends, {
    ...hooks,
    discard: (poison) => orFail(() => discard(poison), false),
    onError: (error) => {
      if (redis.status === 'end' || isHopeless(error)) failed.abort(error);
      else tell(error);
    },
  });
  failed.signal.throwIfAborted();
}

const hopeless = /^(NOPERM|NOAUTH|WRONGPASS|WRONGTYPE|ERR unknown command|ERR ACL failure)/;

const isHopeless = (error: unknown): boolean =>
  error instanceof TypeError ||
  (error instanceof ReplyError && hopeless.test((error as Error).message));

const bounds = {
  waitForReplicas: [0, 16],
  batchSize: [1, 10_000],
  gatherMs: [0, 60_000],
  claimIdleMs: [1, 86_400_000],
  retireIdleMs: [1, 86_400_000],
} as const;

function checkOptions(options: Omit<PipelineOptions, 'keyPrefix'>): void {
  for (const [name, [least, most]] of Object.entries(bounds)) {
    const value = options[name as keyof typeof bounds];
    if (value === undefined) continue;
    if (!Number.isInteger(value) || value < least || value > most)
      throw new OptionInvalid(name, value, `a whole number from ${least} to ${most}`);
  }
}

function asSet(settled: unknown): ReadonlySet<string> {
  if (settled instanceof Set) return settled;
  throw new TypeError('The handler must return the Set of the ids that it settled.');
}

function asId(id: string): string {
  if (!isId(id)) throw new PurchaseInvalid(`${JSON.stringify(id)} is not an id`);
  return id;
}

function asVoucher(sale: Sale): Voucher {
  const { id, stock, beginTime, endTime } = sale;
  asId(id);
  if (!Number.isSafeInteger(stock) || stock < 1)
    throw new PurchaseInvalid('stock is not a whole number from 1');
  if (!(beginTime < endTime)) throw new PurchaseInvalid('beginTime is not before endTime');
  return { ...sale, title: '', rung: 'lua-stream' };
}
