/**
 * The places where the course notes put a breakpoint, by name. Nothing in production: without a gate, passing one is an
 * `await` of undefined. In the lab a gate may hold whoever passes, so that every famous race can be played step by step.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Order } from './domain.ts';

export const checkpointNames = [
  'before-subscribe',
  'after-grant',
  'after-check',
  'stock-taken',
  'before-commit',
  'before-release',
  'owner-checked',
] as const;
export type CheckpointName = (typeof checkpointNames)[number];

/** Hears who passes: the order, where it is a purchase that does. */
export type Gate = (name: CheckpointName, order: Order | undefined) => Promise<void>;

let gate: Gate | undefined;
const passing = new AsyncLocalStorage<Order>();

export function checkpoint(name: CheckpointName): Promise<void> | undefined {
  return gate?.(name, passing.getStore());
}

/** Whose purchase this is; known in the lab only. */
export const currentOrder = (): Order | undefined => passing.getStore();

/** Every checkpoint inside the work is passed by this order. */
export function passingAs<Result>(order: Order, work: () => Promise<Result>): Promise<Result> {
  return gate ? passing.run(order, work) : work();
}

/** For the lab only. */
export function installGate(installed: Gate): void {
  gate = installed;
}
