/**
 * Idea. One Lua script checks the time window, the user and the stock, takes one from stock, and
 *   adds the order to a stream. It is one step, so a crash cannot stop it half-way. The client is
 *   answered `accepted`; workers record the stream in MySQL afterwards.
 * Holds while. Redis keeps every write that it acknowledged: ORDER_DURABILITY says what it must
 *   survive, and `replica` waits for one. MySQL's rails refuse a second order of a user.
 * Breaks when. Redis loses acknowledged writes. When it has lost its epoch too, nothing is sold
 *   until it is rebuilt from MySQL.
 * Source. The course notes' last chapter. Added here: declared keys, idempotency, and an order id
 *   that is made before the script runs.
 */
import type { Redis } from 'ioredis';
import type { KnownEpoch } from '../connections/known-epoch.ts';
import { connectionOf, findMasters } from '../connections/redis.ts';
import type { SaleKeys, ShardKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { refusesWrites } from '../connections/store-errors.ts';
import { type Order, type Outcome, refused, type Voucher } from '../domain.ts';
import type { Inventory } from './inventory.ts';
import { asOutcome, prepare, remaining } from './shared/claims.ts';
import { ReplicaAcknowledgement } from './shared/replica-acknowledgement.ts';
import { SoldOutMemory } from './shared/sold-out-memory.ts';

const purchase = loadScript('sale/purchase');

/** Where no other process sells: nothing is checked. */
const noEpoch = { value: '', refresh: () => {} };

export interface LuaStreamOptions {
  /** An order is accepted once a replica has it, and not before. */
  readonly waitForReplica?: boolean;
  /** Redis refuses to sell in another one. */
  readonly epoch?: Pick<KnownEpoch, 'value' | 'refresh'>;
}

export function luaStream(
  redis: Redis,
  keys: SaleKeys,
  { waitForReplica = false, epoch = noEpoch }: LuaStreamOptions = {},
): Inventory {
  const soldOut = new SoldOutMemory(redis, keys);
  const replica = waitForReplica ? new ReplicaAcknowledgement() : null;

  async function sell(order: Order, sold: Voucher): Promise<Outcome> {
    if (redis.status !== 'ready') return refused('not-ready'); // Nothing was sent.
    if (soldOut.isTrueFor(order)) return refused('sold-out');
    const { id, voucherId, userId, requestId } = order;
    const askedAtMs = performance.now();
    const shard = keys.of(voucherId);
    const { voucher, buyers, orders, queued, epoch: epochKey } = shard;
    // WAIT is about one connection. Otherwise the client may follow a key to another node.
    const by = replica ? connectionOf(redis, epochKey) : redis;
    if (!by) return refused('not-ready');
    const touched = [voucher(voucherId), buyers(voucherId), orders, queued, epochKey];
    const args = [id, voucherId, userId, requestId, epoch.value];
    const whenReplicated = replica?.begin(by);
    try {
      const answer = await runScript(by, purchase, touched, args);
      if (isOtherEpoch(answer)) epoch.refresh();
      soldOut.learn(sold, answer, askedAtMs);
      const outcome = asOutcome(purchase.name, answer);
      return whenReplicated ? confirm(outcome, order, { by, shard, whenReplicated }) : outcome;
    } catch (cause) {
      if (refusesWrites(cause)) {
        findMasters(redis);
        return refused('not-ready');
      }
      // The script may have run. A repeated request gets its answer.
      return { kind: 'unknown', orderId: id, cause };
    }
  }

  return {
    clock: 'redis',
    prepare: (voucher) => prepare(redis, keys, voucher),
    sell,
    remaining: (voucherId) => remaining(redis, keys, voucherId),
  };
}

const isOtherEpoch = (answer: unknown): boolean =>
  (answer as readonly string[])[0] === 'other-epoch';

interface Written {
  /** The connection of the script. */
  readonly by: Redis;
  readonly shard: ShardKeys;
  readonly whenReplicated: () => Promise<void>;
}

/** @param asked the order of this request; an earlier request may have been accepted instead. */
async function confirm(
  outcome: Outcome,
  asked: Order,
  { by, shard, whenReplicated }: Written,
): Promise<Outcome> {
  if (outcome.kind !== 'accepted') return outcome;
  const { orderId } = outcome;
  try {
    // Another connection may have written the earlier order. After a write on this one, a replica
    // that has this write has the order too. A message would not do: in a cluster, it takes another
    // way to the replicas.
    if (orderId !== asked.id) await by.set(shard.queue('repeated'), '');
    await whenReplicated();
    return outcome;
  } catch (cause) {
    return { kind: 'unknown', orderId, cause };
  }
}
