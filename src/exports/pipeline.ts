/**
 * `import { … } from 'lockstep/pipeline'`: the last rung, for a program of your own. One Lua script
 * sells, and a stream delivers each order to your handler, once or again until it is settled.
 */
import type { Redis } from 'ioredis';
import { saleKeys } from '../connections/sale-keys.ts';
import { isId, type Order, type Outcome, type RefusalReason, type Voucher } from '../domain.ts';
import { PurchaseInvalid, VoucherIdTaken } from '../errors.ts';
import { luaStream } from '../inventory/lua-stream.ts';
import { freeLease } from '../locks/none.ts';
import type { Handle, Hooks } from '../queues/order-queue.ts';
import { redisStreamGroupQueue, type StreamGroupOptions } from '../queues/redis-stream-group.ts';
import { asFields, readOrder } from '../queues/shared/order-fields.ts';

export { LockstepError } from '../errors.ts';
export type { Delivery, Discard, Handle, Hooks, Poison } from '../queues/order-queue.ts';
export type { Order, Outcome, RefusalReason, StreamGroupOptions };
export { PurchaseInvalid };

export interface PipelineOptions extends StreamGroupOptions {
  /** Before every key; nothing without it. */
  readonly keyPrefix?: string;
  /** A purchase is accepted once a replica of Redis has it, and not before. */
  readonly waitForReplica?: boolean;
}

/** What is sold, and when. */
export interface Sale {
  /** A decimal number from 1 to 2^63-1. */
  readonly id: string;
  /** How many there are to sell, with those that are sold. */
  readonly stock: number;
  readonly beginTime: Date;
  readonly endTime: Date;
}

export interface SalePipeline {
  /**
   * Once, before the first purchase. A second call with the same sale changes nothing.
   * @throws PurchaseInvalid, also when another sale has this id.
   */
  prepare(sale: Sale): Promise<void>;
  /**
   * One to each user. A repeated order with the same `requestId` gets the id of the first one. The
   * outcome is `unknown` when the answer was lost: repeat the order.
   * @param order its ids are decimal, from 1 to 2^63-1; `requestId` has 1 to 64 visible characters
   * @throws PurchaseInvalid
   */
  sell(order: Order, sale: Sale): Promise<Outcome>;
  /** The stock that is left; null when Redis does not know the sale. */
  remaining(voucherId: string): Promise<number | null>;
  /**
   * Delivers orders to `handle` until `signal` aborts; then it finishes the batch in hand. Any
   * number of processes may consume, each order is delivered to one of them, and to another when it
   * was not settled. An entry of the stream that is no order is given to `hooks.discard`.
   */
  consume(handle: Handle, signal: AbortSignal, hooks?: Hooks): Promise<void>;
  /** How many orders are not settled. */
  depth(): Promise<number>;
  /** After its end, when its orders are settled: nothing else removes its keys. */
  remove(voucherId: string): Promise<void>;
}

/** @param redis should send no command again: `new Redis(url, { maxRetriesPerRequest: 0 })` */
export function salePipeline(redis: Redis, options: PipelineOptions = {}): SalePipeline {
  const { keyPrefix = '', waitForReplica = false, ...ofStream } = options;
  const keys = saleKeys(1, 1, keyPrefix);
  const inventory = luaStream(redis, keys, { waitForReplica });
  const { consume, depth } = redisStreamGroupQueue(redis, keys, ofStream);
  return {
    prepare: async (sale) =>
      inventory.prepare(asVoucher(sale)).catch((error: unknown) => {
        if (!(error instanceof VoucherIdTaken)) throw error;
        throw new PurchaseInvalid(`another sale has the id ${sale.id}`);
      }),
    sell: async (order, sale) => {
      const read = readOrder(asFields(order));
      if ('cause' in read) throw new PurchaseInvalid(read.cause);
      if (order.voucherId !== sale.id) throw new PurchaseInvalid('voucherId is not the sale’s id');
      return inventory.sell(order, asVoucher(sale), freeLease);
    },
    remaining: (id) => inventory.remaining({ id }),
    consume,
    depth,
    remove: async (voucherId) => {
      const { voucher, buyers } = keys.of(voucherId);
      await redis.unlink(voucher(voucherId), buyers(voucherId));
    },
  };
}

function asVoucher(sale: Sale): Voucher {
  const { id, stock, beginTime, endTime } = sale;
  if (!isId(id)) throw new PurchaseInvalid('id is not an id');
  if (!Number.isSafeInteger(stock) || stock < 1)
    throw new PurchaseInvalid('stock is not a whole number from 1');
  if (!(beginTime < endTime)) throw new PurchaseInvalid('beginTime is not before endTime');
  return { ...sale, title: '', rung: 'lua-stream' };
}
