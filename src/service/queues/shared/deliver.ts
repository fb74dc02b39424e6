/**
 * The consumer of the queues without a group: it takes entries, delivers their orders, and keeps in
 * hand what is not settled, to deliver it again with the next ones. So a poison order stops no
 * other.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Order } from '../../domain.ts';
import type { Delivery, Discard, Handle, Poison } from '../order-queue.ts';
import type { Entry, MalformedLetter } from './order-fields.ts';

/** Where the entries of one consumer come from. */
export interface Source<E extends Entry> {
  /** Reads this many new entries at most; waits a moment for the first unless some are in hand. */
  take(most: number, inHand: readonly E[]): Promise<readonly E[]>;
  /** These are done; `left` are still in hand. */
  settle(done: readonly E[], left: readonly E[]): Promise<void>;
  /** For the poison entry, once its purchase is undone. */
  moveToDead?(entry: E, letter: MalformedLetter): Promise<void>;
  noted?(entry: E): Promise<Pick<Poison, 'orderId' | 'noted'>>;
  /** At the end: gives back what is left. Without it, the entries are finished first. */
  handBack?(left: readonly E[]): Promise<void>;
  /** How many entries this process has that were not taken yet. */
  waiting?(): number;
  /** After an error, before the next try. */
  recover?(): Promise<void>;
}

export interface DeliverOptions {
  readonly batchSize: number;
  /** The pause after a batch that was not full, in milliseconds, so that orders gather. */
  readonly gatherMs: number;
}

const retryMs = 50;

interface InHand<E> {
  readonly entry: E;
  attempt: number;
}

/** What is called beside `Handle`, by one consumer: see `Hooks`. */
export interface ConsumerHooks {
  readonly discard?: Discard | undefined;
  readonly onTurn?: (entries: number) => void;
  readonly onSettled?: (entries: number) => void;
}

/** Until `signal` aborts and what is in hand is finished, or handed back. */
export async function deliverFrom<E extends Entry>(
  source: Source<E>,
  handle: Handle,
  signal: AbortSignal,
  { discard = async () => true, onTurn, onSettled }: ConsumerHooks,
  { batchSize, gatherMs }: DeliverOptions,
): Promise<void> {
  let inHand: InHand<E>[] = [];
  let isStuck = false;
  const mustFinish = () => !source.handBack && inHand.length + (source.waiting?.() ?? 0) > 0;
  while (!signal.aborted || (mustFinish() && !isStuck)) {
    try {
      const most = batchSize - inHand.length;
      const taken = most > 0 ? await source.take(most, inHand.map(entryOf)) : [];
      if (most > 0) onTurn?.(taken.length);
      inHand.push(...taken.map((entry) => ({ entry, attempt: (entry.delivered ?? 0) + 1 })));
      const before = inHand.length;
      inHand = await deliver(source, inHand, handle, discard);
      onSettled?.(before - inHand.length);
      isStuck = before > 0 && inHand.length === before;
      if (inHand.length > 0) await sleep(retryMs);
      else if (before > 0 && before < batchSize) await sleep(gatherMs);
    } catch {
      onSettled?.(0);
      isStuck = true;
      await sleep(retryMs);
      await source.recover?.();
    }
  }
  await source.handBack?.(inHand.map(entryOf)).catch(() => {});
}

/** @returns what is still in hand. */
async function deliver<E extends Entry>(
  source: Source<E>,
  inHand: readonly InHand<E>[],
  handle: Handle,
  discard: Discard,
): Promise<InHand<E>[]> {
  if (inHand.length === 0) return [];
  const settled = await handleOrders(inHand, handle);
  for (const each of inHand) {
    if (!isPoison(each.entry)) continue;
    if (await discardPoison(source, each, discard)) settled.add(each.entry);
  }
  const left = inHand.filter(({ entry }) => !settled.has(entry));
  const done = inHand.filter(({ entry }) => settled.has(entry));
  if (done.length > 0) await source.settle(done.map(entryOf), left.map(entryOf));
  for (const each of left) each.attempt += 1;
  return left;
}

/** @returns the entries whose orders are settled; none when the handler failed. */
async function handleOrders<E extends Entry>(
  inHand: readonly InHand<E>[],
  handle: Handle,
): Promise<Set<E>> {
  const orders = inHand.filter(({ entry }) => !isPoison(entry));
  if (orders.length === 0) return new Set();
  const deliveries = orders.map(
    ({ entry, attempt }): Delivery => ({ order: entry.read as Order, attempt }),
  );
  const ids = await handle(deliveries).catch(() => new Set<string>());
  return new Set(orders.map(entryOf).filter(({ read }) => ids.has((read as Order).id)));
}

async function discardPoison<E extends Entry>(
  source: Source<E>,
  { entry, attempt: deliveries }: InHand<E>,
  discard: Discard,
): Promise<boolean> {
  const { cause } = entry.read as { readonly cause: string };
  const { orderId, noted } = (await source.noted?.(entry)) ?? {};
  if (!(await discard({ cause, orderId, noted }))) return false;
  await source.moveToDead?.(entry, { cause, deliveries, noted });
  return true;
}

const entryOf = <E>({ entry }: InHand<E>): E => entry;
const isPoison = ({ read }: Entry): boolean => 'cause' in read;

export class WakeUp {
  #wake = () => {};

  /** Something has arrived. Without a wait it does nothing. */
  wake(): void {
    this.#wake();
  }

  /** Resolves at the next arrival, or after this time. */
  wait(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
