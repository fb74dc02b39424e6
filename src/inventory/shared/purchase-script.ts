/**
 * One purchase by lua/sale/purchase.lua: one call, with the keys of one shard or of one bucket, and
 * its answer as an outcome.
 */
import type { Redis } from 'ioredis';
import type { KnownEpoch } from '../../connections/known-epoch.ts';
import { connectionOf, findMasters } from '../../connections/redis.ts';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import { refusesWrites } from '../../connections/store-errors.ts';
import { type Order, type Outcome, refused } from '../../domain.ts';
import { asOutcome } from './claims.ts';
import { ReplicaAcknowledgement } from './replica-acknowledgement.ts';

const purchase = loadScript('sale/purchase');

/** Where no other process sells: nothing is checked. */
export const noEpoch = { value: '', refresh: () => {} };

export interface ScriptOptions {
  /** An order is accepted once a replica has it, and not before. */
  readonly waitForReplica?: boolean;
  /** Redis refuses to sell in another one. */
  readonly epoch?: Pick<KnownEpoch, 'value' | 'refresh'>;
}

export interface Sold {
  readonly outcome: Outcome;
  /** What the script answered; absent when that is not known. */
  readonly answer?: unknown;
  /** Before it was asked. */
  readonly askedAtMs: number;
}

export type SellByScript = (shard: ShardKeys, order: Order) => Promise<Sold>;

export function sellByScript(
  redis: Redis,
  { waitForReplica = false, epoch = noEpoch }: ScriptOptions,
): SellByScript {
  const replica = waitForReplica ? new ReplicaAcknowledgement() : null;

  return async (shard, order) => {
    const { id, voucherId, userId, requestId } = order;
    const askedAtMs = performance.now();
    const { voucher, buyers, orders, queued, epoch: epochKey } = shard;
    const touched = [voucher(voucherId), buyers(voucherId), orders, queued, epochKey];
    const args = [id, voucherId, userId, requestId, epoch.value];
    // WAIT is about one connection. Otherwise the client may follow a key to another node.
    const by = replica ? connectionOf(redis, epochKey) : redis;
    if (!by) return { outcome: refused('not-ready'), askedAtMs };
    const whenReplicated = replica?.begin(by);
    try {
      const answer = await runScript(by, purchase, touched, args);
      if (isOtherEpoch(answer)) epoch.refresh();
      const sold = { outcome: asOutcome(purchase.name, answer), answer, askedAtMs };
      if (!whenReplicated) return sold;
      const outcome = await confirm(sold.outcome, order, { by, shard, whenReplicated });
      return { ...sold, outcome };
    } catch (cause) {
      if (refusesWrites(cause)) {
        findMasters(redis);
        return { outcome: refused('not-ready'), askedAtMs };
      }
      // The script may have run. A repeated request gets its answer.
      return { outcome: unknown(id, cause), askedAtMs };
    }
  };
}

const unknown = (orderId: string, cause: unknown): Outcome => ({ kind: 'unknown', orderId, cause });

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
