/**
 * One purchase by lua/sale/purchase.lua: one call, with the keys of one shard or of one bucket, and
 * its answer as an outcome.
 */
import type { Redis } from 'ioredis';
import type { KnownEpoch } from '../../connections/known-epoch.ts';
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
  const replica = waitForReplica ? new ReplicaAcknowledgement(redis) : null;

  /** @param asked the order of this request; an earlier request may have been accepted instead. */
  async function confirm(
    outcome: Outcome,
    asked: Order,
    shard: ShardKeys,
    whenReplicated: () => Promise<void>,
  ): Promise<Outcome> {
    if (outcome.kind !== 'accepted') return outcome;
    const { orderId } = outcome;
    try {
      // Another connection may have written the earlier order. After a message on this one, a
      // replica that has the message has the order too.
      if (orderId !== asked.id) await redis.publish(shard.queue('repeated'), '');
      await whenReplicated();
      return outcome;
    } catch (cause) {
      return { kind: 'unknown', orderId, cause };
    }
  }

  return async (shard, order) => {
    const { id, voucherId, userId, requestId } = order;
    const askedAtMs = performance.now();
    const { voucher, buyers, orders, queued, epoch: epochKey } = shard;
    const touched = [voucher(voucherId), buyers(voucherId), orders, queued, epochKey];
    const args = [id, voucherId, userId, requestId, epoch.value];
    const whenReplicated = replica?.begin();
    try {
      const answer = await runScript(redis, purchase, touched, args);
      if (isOtherEpoch(answer)) epoch.refresh();
      const outcome = asOutcome(purchase.name, answer);
      if (!whenReplicated) return { outcome, answer, askedAtMs };
      return { outcome: await confirm(outcome, order, shard, whenReplicated), answer, askedAtMs };
    } catch (cause) {
      if (refusesWrites(cause)) return { outcome: refused('not-ready'), askedAtMs };
      // The script may have run. A repeated request gets its answer.
      return { outcome: unknown(id, cause), askedAtMs };
    }
  };
}

const unknown = (orderId: string, cause: unknown): Outcome => ({ kind: 'unknown', orderId, cause });

const isOtherEpoch = (answer: unknown): boolean =>
  (answer as readonly string[])[0] === 'other-epoch';
