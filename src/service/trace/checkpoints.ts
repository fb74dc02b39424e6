/**
 * The places where the course notes put a breakpoint, by name. Nothing in production: without a
 * gate, a checkpoint is an `await` of undefined. In the lab a gate can pause a request there, so
 * that every famous race replays step by step.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Order, Voucher } from '../domain.ts';

export const checkpointNames = [
  'voucher-inserted',
  'change-begun',
  'bucket-adjusted',
  'change-applied',
  'before-subscribe',
  'before-expire',
  'after-acquire',
  'after-check',
  'stock-taken',
  'lent',
  'put',
  'claimed',
  'published',
  'delivered',
  'recording',
  'recorded',
  'before-commit',
  'before-release',
  'before-compare',
  'owner-checked',
] as const;
export type CheckpointName = (typeof checkpointNames)[number];

/** Called at every checkpoint, with the order of the purchase that reached it. */
export type Gate = (name: CheckpointName, order: Order | undefined) => Promise<void>;

let gate: Gate | undefined;
const orders = new AsyncLocalStorage<Order>();

export function checkpoint(name: CheckpointName): Promise<void> | undefined {
  return gate?.(name, orders.getStore());
}

/**
 * The checkpoints of the purchase in this async context, for a transaction that several purchases
 * share: each of them reaches its own.
 */
export const ownCheckpoint = (): typeof checkpoint =>
  gate ? AsyncResource.bind(checkpoint) : checkpoint;

/**
 * In an order worker there is no context of a request: the orders themselves say whose they are.
 */
export async function checkpointEach(name: CheckpointName, reached: readonly Order[]) {
  if (!gate) return;
  for (const order of reached) await gate(name, order);
}

/** The order of the purchase in this async context; known in the lab only. */
export const currentOrder = (): Order | undefined => orders.getStore();

/** Every checkpoint that `work` reaches is reported with this order. */
export function withOrder<Result>(order: Order, work: () => Result): Result {
  return gate ? orders.run(order, work) : work();
}

/** For the lab only. */
export function installGate(installed: Gate): void {
  gate = installed;
}

/**
 * The time that a real sale needs between its check and its write: waits `workMs` in the lab, so
 * that requests overlap and races show. Nothing outside the lab.
 */
export async function work({ lab }: Voucher): Promise<void> {
  if (lab && lab.workMs > 0) await sleep(lab.workMs);
}
