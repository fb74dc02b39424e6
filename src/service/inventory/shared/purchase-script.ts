/**
 * Purchases by lua/sale/purchase.lua, with the keys of one shard or of one bucket. All that wait to
 * buy one voucher are one call, in the order in which they came: a call costs Redis and the
 * instance more than the sale to one more buyer. While it runs, the next call gathers.
 */
import type { Redis } from 'ioredis';
import { type KnownEpoch, oneEpoch } from '../../connections/known-epoch.ts';
import { connectionOf, findMasters } from '../../connections/redis-cluster.ts';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import { refusesWrites } from '../../connections/store-errors.ts';
import { type Order, type Outcome, refused } from '../../domain.ts';
import { batches } from './batches.ts';
import { accepted, asOutcome } from './claims.ts';
import { ReplicaAcknowledgement } from './replica-acknowledgement.ts';

const purchase = loadScript('sale/purchase');
/** The script answers 1 for "accepted with the id that you sent": nearly always, so it is short. */
const soldAsAsked = 1;

/** No check of the epoch: for tests and the library, where one process owns the data. */
export const noEpoch = oneEpoch('');

export interface ScriptOptions {
  /** The number of replicas that must have the writes before an answer is given: all of them. */
  readonly waitForReplicas?: number;
  /** The longest that a buyer waits until the script is called. */
  readonly waitMs?: number;
  /** Redis refuses to sell in another one. */
  readonly epoch?: Pick<KnownEpoch, 'value' | 'refresh'>;
}

export interface SaleAnswer {
  readonly outcome: Outcome;
  /** What the script answered; absent when that is not known, or the order was accepted. */
  readonly answer?: unknown;
  /** The clock before the script was called. */
  readonly askedAtMs: number;
}

export type SellByScript = (shard: ShardKeys, order: Order) => Promise<SaleAnswer>;

/** One who waits for a call of the script. */
interface Buyer {
  readonly shard: ShardKeys;
  readonly order: Order;
  readonly answer: (sold: SaleAnswer | Promise<SaleAnswer>) => void;
}
type Buyers = readonly [Buyer, ...Buyer[]];

/**
 * Redis does nothing else during a call: so many take it one or two milliseconds. More of one
 * voucher wait at an instance only while Redis, its disk or its replica is slow.
 */
const defaults = { gatherMs: 0, batchSize: 100, waitingMax: 5_000, waitMs: 2_000 } as const;

export function sellByScript(
  redis: Redis,
  { waitForReplicas = 0, epoch = noEpoch, waitMs = defaults.waitMs }: ScriptOptions,
): SellByScript {
  const replica = waitForReplicas > 0 ? new ReplicaAcknowledgement(waitForReplicas) : null;

  async function sell(buyers: Buyers): Promise<void> {
    const [{ shard }] = buyers;
    const askedAtMs = performance.now();
    // WAIT is about one connection. Without it, the client may follow a key that has moved.
    const by = replica ? connectionOf(redis, shard.epoch) : redis;
    if (by?.status !== 'ready') return answerAll(buyers, notReady, askedAtMs); // Nothing was sent.
    const whenReplicated = replica?.begin(by);
    const replicated = (isOwn: boolean) =>
      isOwn ? whenReplicated?.() : replica?.confirmAll(by, shard);
    try {
      const answers = await callScript(by, buyers, epoch.value);
      if (answers.some(isOtherEpoch)) epoch.refresh();
      for (const [index, { order, answer }] of buyers.entries()) {
        const sold = soldTo(order, answers[index], askedAtMs);
        answer(replica ? confirmed(sold, order, replicated) : sold);
      }
    } catch (cause) {
      if (!refusesWrites(cause)) return answerAll(buyers, unknownBecause(cause), askedAtMs);
      findMasters(redis); // Of a cluster: another node may be the master now.
      answerAll(buyers, notReady, askedAtMs);
    }
  }

  const add = batches<Buyer>(
    {
      run: (buyers) => sell(buyers as Buyers),
      refuse: (buyer) => answerAll([buyer], notReady, performance.now()), // Nothing was sent.
    },
    { ...defaults, waitMs },
  );
  return (shard, order) =>
    new Promise((answer) => {
      add(shard.voucher(order.voucherId), { shard, order, answer });
    });
}

async function callScript(redis: Redis, buyers: Buyers, epoch: string) {
  const [{ shard, order: first }] = buyers;
  const { voucherId } = first;
  const { orders, queued, epoch: epochKey } = shard;
  const keys = [shard.voucher(voucherId), shard.buyers(voucherId), orders, queued, epochKey];
  const args = [epoch, voucherId];
  for (const { order } of buyers) args.push(order.id, order.userId, order.requestId);
  return (await runScript(redis, purchase, keys, args)) as readonly unknown[];
}

type OutcomeOf = (order: Order) => Outcome;

const notReady: OutcomeOf = () => refused('not-ready');

/** The script may have run. A repeated request gets its answer. */
const unknownBecause =
  (cause: unknown): OutcomeOf =>
  ({ id: orderId }) => ({ kind: 'unknown', orderId, cause });

function answerAll(buyers: Buyers, outcomeOf: OutcomeOf, askedAtMs: number): void {
  for (const { order, answer } of buyers) answer({ outcome: outcomeOf(order), askedAtMs });
}

function soldTo(order: Order, answer: unknown, askedAtMs: number): SaleAnswer {
  try {
    if (answer === soldAsAsked) return { outcome: accepted(order.id), askedAtMs };
    return { outcome: asOutcome(purchase.name, answer), answer, askedAtMs };
  } catch (cause) {
    return { outcome: unknownBecause(cause)(order), askedAtMs };
  }
}

const isOtherEpoch = (answer: unknown): boolean =>
  (answer as readonly string[])[0] === 'other-epoch';

/**
 * "Sold out" and "already ordered" also depend on writes: if a failover loses these, the answer was
 * false. So it waits for the replicas first.
 * @param asked the order of this request; an earlier request may have been accepted instead.
 * @param replicated once the replicas have the writes of this call, or also those of every other
 *   connection.
 */
async function confirmed(
  sold: SaleAnswer,
  asked: Order,
  replicated: (isOwn: boolean) => Promise<void> | undefined,
): Promise<SaleAnswer> {
  const { outcome, askedAtMs } = sold;
  if (!restsOnWrites(outcome)) return sold;
  try {
    await replicated(outcome.orderId === asked.id);
    return sold;
  } catch (cause) {
    if (outcome.kind === 'refused') return { outcome: refused('not-ready'), askedAtMs };
    return { ...sold, outcome: { kind: 'unknown', orderId: outcome.orderId ?? asked.id, cause } };
  }
}

const restsOnWrites = (outcome: Outcome): boolean =>
  outcome.kind === 'accepted' ||
  (outcome.kind === 'refused' && ['sold-out', 'already-ordered'].includes(outcome.reason));
