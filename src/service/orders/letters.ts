/**
 * The dead letters of all shards, for an operator: lists them, shows one, discards one, and replays
 * one. A replay sells its order again to the same user, if stock is left. The new order goes the
 * way of every purchase: one script, the stream, a worker, MySQL's rails.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Connections, readEpoch } from '../connections/connections.ts';
import { oneEpoch } from '../connections/known-epoch.ts';
import type { BucketCount, ShardKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { isId, type Order } from '../domain.ts';
import { serviceError } from '../errors.ts';
import { BucketTransfers } from '../inventory/shared/bucket-transfers.ts';
import { ladder, rungNamed } from '../ladder/rungs.ts';
import type { OrderIds } from '../order-ids/order-ids.ts';
import { openVouchers } from '../purchase/vouchers.ts';
import { fieldOf, readLetter } from '../queues/shared/order-fields.ts';
import { insertTombstone, otherOrder } from './dead-letters.ts';

const discard = loadScript('sale/discard-letter');
const replay = loadScript('sale/replay');

export interface DeadLetter {
  /** `shard-milliseconds-number`: the shard, and the entry in its stream of dead letters. */
  readonly id: string;
  readonly deadAt: string;
  readonly reason: string;
  /** Of a malformed entry: the field that is wrong. */
  readonly cause?: string;
  /** How often the order was delivered. Letters of earlier versions do not have it. */
  readonly deliveries?: number;
  readonly orderId?: string;
  readonly voucherId?: string;
  readonly userId?: string;
  /** The order that a replay made. */
  readonly replayedAs?: string;
  /** Its entry, as the queue had it: field, value, field, value, … */
  readonly entry: readonly string[];
  /** False when nothing shows whose order it was. */
  readonly isOwnerKnown: boolean;
}

/** The oldest first, `most` at most; and how many there are. */
export async function listLetters(
  connections: Connections,
  most: number,
): Promise<{ letters: DeadLetter[]; total: number }> {
  const { shards } = connections.saleKeys;
  const found = await Promise.all(shards.map((_, shard) => lettersOf(connections, shard, most)));
  const redis = connections.redis('admin');
  const counts = await Promise.all(shards.map(({ dead }) => redis.xlen(dead)));
  const letters = found.flat().sort((one, other) => (one.deadAt < other.deadAt ? -1 : 1));
  return { letters: letters.slice(0, most), total: counts.reduce((sum, count) => sum + count, 0) };
}

async function lettersOf(
  connections: Connections,
  number: number,
  most: number,
): Promise<DeadLetter[]> {
  const shard = connections.saleKeys.shards[number] as ShardKeys;
  const redis = connections.redis('admin');
  const entries = await redis.xrange(shard.dead, '-', '+', 'COUNT', most);
  if (entries.length === 0) return [];
  const replayed = await redis.hmget(shard.replayed, ...entries.map(([entryId]) => entryId));
  return entries.map((entry, index) => asDeadLetter(number, entry, replayed[index] ?? null));
}

/** @throws UNKNOWN_DEAD_LETTER */
export async function findLetter(connections: Connections, id: string): Promise<DeadLetter> {
  const { shard, entryId } = placeOf(connections, id);
  const redis = connections.redis('admin');
  const [entry] = await redis.xrange(shard.dead, entryId, entryId);
  if (!entry) throw serviceError('UNKNOWN_DEAD_LETTER', id);
  return asDeadLetter(numberOf(id), entry, await redis.hget(shard.replayed, entryId));
}

/**
 * Removes the letter. Its order stays failed, and the order of a replay stays as it is.
 * @returns what was removed. @throws UNKNOWN_DEAD_LETTER also when another operator was faster.
 */
export async function discardLetter(connections: Connections, id: string): Promise<DeadLetter> {
  const letter = await findLetter(connections, id);
  const { shard, entryId } = placeOf(connections, id);
  const keys = [shard.dead, shard.replayed];
  const answer = await runScript(connections.redis('admin'), discard, keys, [entryId]);
  const [word, replayedAs] = answer as [string, string];
  if (word !== 'discarded') throw serviceError('UNKNOWN_DEAD_LETTER', id);
  return replayedAs === '' ? letter : { ...letter, replayedAs };
}

/** @throws UNKNOWN_DEAD_LETTER when no letter can have this id. */
function placeOf({ saleKeys }: Connections, id: string) {
  const [, entryId] = /^\d{1,2}-(\d{1,19}-\d{1,19})$/.exec(id) ?? [];
  const shard = saleKeys.shards[numberOf(id)];
  if (!shard || entryId === undefined) throw serviceError('UNKNOWN_DEAD_LETTER', id);
  return { shard, entryId };
}

const numberOf = (id: string): number => Number(id.slice(0, id.indexOf('-')));

function asDeadLetter(
  shard: number,
  [entryId, fields]: [id: string, fields: string[]],
  replayedAs: string | null,
): DeadLetter {
  const { noted, ...letter } = readLetter(fields);
  const named = (name: string) => fieldOf(letter.entry, name);
  const [orderId, voucherId, userId] = [
    named('orderId'),
    noted?.voucherId ?? named('voucherId'),
    noted?.userId ?? named('userId'),
  ];
  const isOwnerKnown = letter.reason !== 'malformed' || noted !== undefined;
  return {
    id: `${shard}-${entryId}`,
    deadAt: new Date(Number(entryId.split('-')[0])).toISOString(),
    ...letter,
    ...(orderId !== undefined && { orderId }),
    ...(voucherId !== undefined && { voucherId }),
    ...(userId !== undefined && { userId }),
    ...(replayedAs !== null && { replayedAs }),
    isOwnerKnown: isOwnerKnown && [voucherId, userId].every((id) => isId(id ?? '')),
  };
}

/** `isFirst` is false when the letter was replayed before. */
export interface Replay {
  readonly orderId: string;
  readonly isFirst: boolean;
}

/**
 * A letter is replayed once: a second replay changes nothing, and names the order of the first. So
 * it can be repeated after an error, and by two operators at once.
 * @throws UNKNOWN_DEAD_LETTER or a REPLAY_… when nothing was sold; REPLAY_UNKNOWN when it may
 *   have been.
 */
export async function replayLetter(
  connections: Connections,
  orderIds: Pick<OrderIds, 'next'>,
  id: string,
): Promise<Replay> {
  const letter = await findLetter(connections, id);
  if (letter.replayedAs !== undefined) return { orderId: letter.replayedAs, isFirst: false };
  const buyer = buyerOf(letter);
  const sale = await findSale(connections, letter, buyer);
  await checkFailed(connections, letter, buyer);
  await checkOtherOrder(connections, letter, buyer);
  // No client can send this request id: an Idempotency-Key has no colon.
  const requestId = `replay:${isId(letter.orderId ?? '') ? letter.orderId : letter.id}`;
  return sellAgain(
    { connections, letter, sale },
    { ...buyer, requestId, id: await orderIds.next() },
  );
}

type Buyer = Pick<Order, 'voucherId' | 'userId'>;

/** @throws REPLAY_IMPOSSIBLE when nothing shows whose order it was. */
function buyerOf({ id, isOwnerKnown, voucherId = '', userId = '', cause }: DeadLetter): Buyer {
  if (!isOwnerKnown)
    throw serviceError(
      'REPLAY_IMPOSSIBLE',
      id,
      `its entry does not name a voucher and a user (${cause ?? '-'})`,
    );
  return { voucherId, userId };
}

/** The sale of a voucher to one user. */
interface Sale {
  /** Of the shard of the voucher, or of the user's bucket. */
  readonly keys: ShardKeys;
  readonly inBuckets: boolean;
  readonly buckets: BucketCount;
}

/** The new order goes into the final rung's stream: its workers must be those of the sale. */
async function findSale(
  connections: Connections,
  { id }: DeadLetter,
  { voucherId, userId }: Buyer,
): Promise<Sale> {
  const voucher = await openVouchers(connections).find(voucherId);
  if (!voucher) throw serviceError('REPLAY_SALE_CLOSED', id, `MySQL has no voucher ${voucherId}`);
  const { queue, buckets: inBuckets = false } = rungNamed(voucher.rung);
  if (queue !== ladder['lua-stream'].queue)
    throw serviceError('REPLAY_SALE_CLOSED', id, `voucher ${voucherId} is sold by ${voucher.rung}`);
  const { saleKeys } = connections;
  const { buckets } = voucher;
  const keys = inBuckets ? saleKeys.bucketOf(voucherId, userId, buckets) : saleKeys.of(voucherId);
  if (keys.dead !== placeOf(connections, id).shard.dead)
    throw serviceError(
      'REPLAY_SALE_CLOSED',
      id,
      `voucher ${voucherId} belongs to another shard than its letter`,
    );
  return { keys, inBuckets, buckets };
}

/**
 * As for the dead letter itself: MySQL must have the failed row, so that no worker can record the
 * old order beside the new one. Under another id, MySQL can never have it.
 */
async function checkFailed(
  connections: Connections,
  { id, orderId = '', reason }: DeadLetter,
  buyer: Buyer,
): Promise<void> {
  if (!isId(orderId) || reason === 'id-belongs-to-another-order') return;
  const order = { ...buyer, id: orderId, requestId: '' };
  if (await insertTombstone(connections.mysql(), order, reason)) return;
  throw serviceError('REPLAY_ORDER_RECORDED', id, orderId);
}

/** MySQL may have an order that Redis does not know, of a time before Redis lost its data. */
async function checkOtherOrder(
  connections: Connections,
  { id }: DeadLetter,
  buyer: Buyer,
): Promise<void> {
  const [other] = (await otherOrder(connections.mysql(), buyer)).split(':');
  if (other) throw serviceError('REPLAY_USER_HAS_ORDER', id, buyer.userId, buyer.voucherId, other);
}

/** Stock that came back is sold after two seconds at most; each further letter may add as many. */
const waitsMax = 5;
/** All waits together are longer than stock that came back to another bucket is kept. */
const betweenLooksMs = 500;

interface Resale {
  readonly connections: Connections;
  readonly letter: DeadLetter;
  readonly sale: Sale;
}

async function sellAgain(resale: Resale, order: Order): Promise<Replay> {
  const { connections, letter } = resale;
  const { voucherId, userId } = order;
  const epoch = await readEpoch(connections.mysql());
  for (let waits = 0; ; waits++) {
    const [word, orderId, leftMs = 0] = await runReplay(resale, order, epoch);
    switch (word) {
      case 'replayed':
      case 'already-replayed':
        return { orderId, isFirst: word === 'replayed' };
      case 'reopening':
        if (waits === waitsMax) throw serviceError('REPLAY_SOLD_OUT', letter.id, voucherId);
        await sleep(leftMs);
        break;
      case 'sold-out':
        await borrow(resale, order, epoch, waits === waitsMax);
        break;
      case 'already-ordered':
        throw serviceError('REPLAY_USER_HAS_ORDER', letter.id, userId, voucherId, orderId);
      case 'unknown-voucher':
        throw serviceError(
          'REPLAY_SALE_CLOSED',
          letter.id,
          `Redis has lost the sale of voucher ${voucherId}`,
        );
      case 'other-epoch':
        throw serviceError('REPLAY_IN_OTHER_EPOCH', letter.id);
      case 'unknown-letter':
        throw serviceError('UNKNOWN_DEAD_LETTER', letter.id);
      default:
        throw serviceError('SCRIPT_ANSWER_UNEXPECTED', replay.name, word);
    }
  }
}

/**
 * As for a purchase: other buckets may have stock. Resolves when another try is worth it.
 * @throws REPLAY_SOLD_OUT, REPLAY_STOCK_MOVES
 */
async function borrow(
  { connections, letter, sale }: Resale,
  order: Order,
  epoch: string,
  isLast: boolean,
): Promise<void> {
  const soldOut = serviceError('REPLAY_SOLD_OUT', letter.id, order.voucherId);
  if (!sale.inBuckets) throw soldOut;
  const [redis, keys] = [connections.redis('admin'), connections.saleKeys];
  const transfers = new BucketTransfers(redis, keys, oneEpoch(epoch));
  const found = await transfers.borrowFor(order, sale.buckets);
  if (found.word === 'empty' && (isLast || !found.reopens)) throw soldOut;
  if (isLast) throw serviceError('REPLAY_STOCK_MOVES', letter.id, order.voucherId);
  if (found.word !== 'found') await sleep(betweenLooksMs);
}

type Answer = [word: string, orderId: string, leftMs?: number];

/** @throws REPLAY_UNKNOWN after any error: the script may have run. */
async function runReplay(
  { connections, letter, sale }: Resale,
  { id, voucherId, userId, requestId }: Order,
  epoch: string,
): Promise<Answer> {
  const { entryId } = placeOf(connections, letter.id);
  const { voucher, buyers, orders, queued, dead, replayed, epoch: epochKey } = sale.keys;
  const touched = [voucher(voucherId), buyers(voucherId), orders, queued];
  const keys = [...touched, dead, replayed, epochKey];
  const args = [id, voucherId, userId, requestId, entryId, epoch];
  return runScript(connections.redis('admin'), replay, keys, args).catch((cause: unknown) => {
    throw serviceError('REPLAY_UNKNOWN', letter.id).causedBy(cause);
  }) as Promise<Answer>;
}
