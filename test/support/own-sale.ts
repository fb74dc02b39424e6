/**
 * A sale of the final rung, or of buckets, in the test's own process: users buy, workers record,
 * operators change it, and both stores say what they have of it.
 */
import type { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import type { Attempt, Facts } from '../../src/service/audit/facts.ts';
import { type Connections, readEpoch } from '../../src/service/connections/connections.ts';
import { type Pool, select } from '../../src/service/connections/mysql.ts';
import type { ShardKeys } from '../../src/service/connections/sale-keys.ts';
import type { Order, Outcome, Voucher } from '../../src/service/domain.ts';
import type { Inventory } from '../../src/service/inventory/inventory.ts';
import { stockOfBuckets } from '../../src/service/inventory/shared/bucket-stock.ts';
import { freeLease } from '../../src/service/locks/none.ts';
import { changesOf } from '../../src/service/orders/change-journal.ts';
import { deadLetter } from '../../src/service/orders/dead-letters.ts';
import { findOrder } from '../../src/service/orders/find-order.ts';
import { rebuild } from '../../src/service/orders/reconcile/rebuild.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import type { Records } from '../../src/service/orders/record-orders.ts';
import { changeSale, type VoucherEdit } from '../../src/service/orders/voucher-changes.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import { type CheckpointName, installGate } from '../../src/service/trace/checkpoints.ts';
import { quietRedis } from './connections.ts';
import { openProcess, ownStores, startedProcess } from './own-stores.ts';
import { factsOf, inMysql, inventoryOf, onSale, someOrder, workUntilEmpty } from './sale.ts';

const hourMs = 3_600_000;
type Settings = Readonly<Record<string, string>>;

/** On stores of its own. Whatever is compared or finished there is of this sale alone. */
export async function ownSale(changes: Partial<Voucher>, settings: Settings = {}) {
  const stores = { ...(await ownStores()), ...settings };
  return saleOn(await startedProcess(stores), changes, stores);
}

/** On the quiet Redis and the lab's database. The streams are empty. */
export async function quietSale(changes: Partial<Voucher>, settings: Settings = {}) {
  const stores = { REDIS_URL: quietRedis(), ...settings };
  const connections = await openProcess(stores);
  const epoch = await readEpoch(connections.mysql());
  for (const shard of connections.saleKeys.shards) {
    await connections.redis('admin').del(shard.orders, shard.queued, shard.dead, shard.replayed);
    await connections.redis('admin').set(shard.epoch, epoch);
  }
  return saleOn(connections, changes, stores);
}

/** A voucher whose sale is open: nobody has bought yet. */
async function saleOn(
  connections: Connections,
  changes: Partial<Voucher>,
  stores: Settings,
): Promise<OwnSale> {
  const rung = changes.buckets === undefined ? 'lua-stream' : 'lua-buckets';
  const voucher = await onSale(connections, 3, hourMs, { rung, ...changes });
  return new OwnSale(connections, voucher, stores);
}

const now = () => String(process.hrtime.bigint());

export class OwnSale {
  readonly connections: Connections;
  readonly voucher: Voucher;
  readonly id: string;
  readonly redis: Redis;
  readonly pool: Pool;
  readonly records: Records;
  /** Of its shard, and of its buckets: without a number of them it is one. */
  readonly keys: ShardKeys;
  readonly buckets: readonly ShardKeys[];
  /** What the buyers were answered, for the audit. */
  readonly attempts: Attempt[];
  readonly #stores: Settings;
  #inventory: Inventory;

  constructor(
    connections: Connections,
    voucher: Voucher,
    stores: Settings,
    attempts: Attempt[] = [],
  ) {
    this.attempts = attempts;
    this.connections = connections;
    this.voucher = voucher;
    this.id = voucher.id;
    this.redis = connections.redis('admin');
    this.pool = connections.mysql();
    this.records = { pool: this.pool, vouchers: openVouchers(connections) };
    this.keys = connections.saleKeys.of(voucher.id);
    const { id, buckets } = voucher;
    this.buckets = buckets ? connections.saleKeys.bucketsOf(id, buckets) : [this.keys];
    this.#stores = stores;
    this.#inventory = inventoryOf(connections, voucher.rung);
  }

  /** Another sale on the same stores. */
  another(changes: Partial<Voucher> = {}): Promise<OwnSale> {
    return saleOn(this.connections, changes, this.#stores);
  }

  /** Another process of the service. */
  async otherProcess(changes: Settings = {}): Promise<Connections> {
    const other = await openProcess({ ...this.#stores, ...changes });
    other.epoch.set(this.connections.epoch.value);
    return other;
  }

  /** The same sale in another process. */
  async elsewhere(): Promise<OwnSale> {
    return new OwnSale(await this.otherProcess(), this.voucher, this.#stores, this.attempts);
  }

  order(user: number | string, requestId?: string): Order {
    return someOrder(this.id, String(user), requestId);
  }

  async sell(order: Order): Promise<Outcome> {
    const sentAt = now();
    const outcome = await this.#inventory.sell(order, this.voucher, freeLease);
    const { kind, ...answer } = outcome;
    const { userId, requestId } = order;
    const times = { sentAt, answeredAt: now(), latencyMs: 0 };
    this.attempts.push({ ...answer, outcome: kind, userId, requestId, ...times });
    return outcome;
  }

  buy(user: number | string, requestId?: string): Promise<Outcome> {
    return this.sell(this.order(user, requestId));
  }

  /** @returns the order, which must be accepted. */
  async bought(user: number | string, requestId?: string): Promise<Order> {
    const order = this.order(user, requestId);
    expect(await this.sell(order)).toMatchObject({ kind: 'accepted' });
    return order;
  }

  /** One after the other. @returns the orders that were accepted. */
  async buyAs(users: readonly number[]): Promise<Order[]> {
    const accepted: Order[] = [];
    for (const user of users) {
      const order = this.order(user);
      if ((await this.sell(order)).kind === 'accepted') accepted.push(order);
    }
    return accepted;
  }

  /** Until nothing waits in the stream. */
  record(): Promise<void> {
    return workUntilEmpty(this.connections);
  }

  /** Redis has lost the sale, and who has bought. */
  async loseRedis(): Promise<void> {
    for (const { voucher, buyers } of this.buckets)
      await this.redis.del(voucher(this.id), buyers(this.id));
  }

  find({ id }: Pick<Order, 'id'>) {
    return findOrder(this.connections, id);
  }

  async expectConfirmed(...orders: readonly Pick<Order, 'id'>[]): Promise<void> {
    for (const order of orders)
      expect(await this.find(order)).toMatchObject({ status: 'confirmed' });
  }

  recorded() {
    return inMysql(this.voucher, this.connections);
  }

  async inMysql() {
    const [row] = await select<{ initial: number; stock: number }>(
      this.pool,
      'SELECT initial_stock AS initial, stock FROM seckill_stock WHERE voucher_id = ?',
      [this.id],
    );
    return row;
  }

  /** The fields of the sale; of a voucher in buckets, those of the first one. */
  inRedis(): Promise<Record<string, string>> {
    return this.redis.hgetall(this.buckets[0]?.voucher(this.id) ?? '');
  }

  /** Of its buckets; whether there are more, their number does not say. */
  remaining() {
    return this.#inventory.remaining(this.voucher);
  }

  /** `order id:request id` of what this user bought, as Redis has it. */
  buyer(user: number | string): Promise<string | null> {
    return this.redis.hget(this.bucketOf(user).buyers(this.id), String(user));
  }

  bucketOf(user: number | string): ShardKeys {
    const { buckets } = this.voucher;
    if (!buckets) return this.keys;
    return this.connections.saleKeys.bucketOf(this.id, String(user), buckets);
  }

  /** The fields of each dead letter of its shard. */
  async letters(): Promise<string[][]> {
    return (await this.redis.xrange(this.keys.dead, '-', '+')).map(([, fields]) => fields);
  }

  /** Of all its buckets. */
  async stockInRedis(): Promise<number | null> {
    if (!this.voucher.buckets) return Number((await this.inRedis())['stock']);
    return (await this.stockOfBuckets()).stock;
  }

  /** With what is on its way between two of them. */
  stockOfBuckets() {
    const { redis, connections, id, buckets } = this;
    return stockOfBuckets(redis, connections.saleKeys, id, buckets.length);
  }

  facts(): Promise<Facts> {
    return factsOf(this.connections, this.id);
  }

  edit(asked: VoucherEdit) {
    return changeSale(this.connections, this.id, '99', asked);
  }

  changes(after?: number) {
    return changesOf(this.pool, this.id, after);
  }

  /** MySQL refuses every order with this value, until it is lifted or the test is over. */
  async ban(column: string, value: string): Promise<() => Promise<void>> {
    const alter = 'ALTER TABLE orders';
    await this.pool.query(`${alter} ADD CONSTRAINT banned CHECK (${column} <> '${value}')`);
    let lifting: Promise<unknown> | undefined;
    const lift = async () => {
      lifting ??= this.pool.query(`${alter} DROP CONSTRAINT banned`);
      await lifting;
    };
    onTestFinished(lift);
    return lift;
  }

  /** As the worker does at the fifth refusal. */
  deadLetter(order: Order): Promise<void> {
    const death = { reason: 'undeliverable', deliveries: 5 } as const;
    return deadLetter(this.connections, order, death);
  }

  /** The whole Redis. The process knows the new epoch, and nothing else any more. */
  async rebuild(): Promise<void> {
    const { epoch } = await rebuild(this.connections, () => {}, 0);
    this.connections.epoch.set(epoch);
    this.#inventory = inventoryOf(this.connections, this.voucher.rung);
  }

  /** What was sold is recorded, once for each user, and both stores have the rest. */
  async expectConsistent(initial: number): Promise<void> {
    await this.record();
    const { confirmed, failed, users } = await this.recorded();
    const stock = initial - confirmed.length;
    expect([failed, users]).toEqual([[], confirmed.length]);
    expect(await this.inMysql()).toEqual({ initial, stock });
    expect(await this.stockInRedis()).toBe(stock);
    expect(await reconcile(this.connections)).toMatchObject({ verdict: 'consistent' });
  }
}

/** Stops it at this place: what it has done stays, and it does no more. */
export async function dieAt(place: CheckpointName, change: () => Promise<unknown>): Promise<void> {
  installGate(async (reached) => {
    if (reached === place) throw new Error(`died at ${place}`);
  });
  try {
    await expect(change()).rejects.toThrow('is begun, and not finished');
  } finally {
    installGate(() => Promise.resolve());
  }
}

/** The next change stands still at this place: `asleep` resolves there, and `wake` ends it. */
export function standStillAt(place: CheckpointName) {
  const asleep = Promise.withResolvers<void>();
  const woken = Promise.withResolvers<void>();
  installGate(async (reached) => {
    if (reached !== place) return;
    installGate(() => Promise.resolve());
    asleep.resolve();
    await woken.promise;
  });
  return { asleep: asleep.promise, wake: woken.resolve };
}
