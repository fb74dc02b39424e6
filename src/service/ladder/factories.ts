/**
 * The different locks, inventories and queues of the ladder, each under the name of one rung that
 * has it.
 */
import type { InventoryFactory, LockFactory, QueueFactory, Rung } from './rung.ts';
import { ladder, type RungName, rungNamed, rungNames } from './rungs.ts';

/** The different locks, each under the name of its rung. */
export function lockFactories(): Map<RungName, LockFactory> {
  const named = rungNames.flatMap((name) => {
    const { lock, lockOf }: Rung = ladder[name];
    return lock && lockOf === undefined ? [[name, lock] as const] : [];
  });
  return new Map(named);
}

/** The first rung of each inventory. */
export function inventoryRungs(): RungName[] {
  const names = new Map<InventoryFactory, RungName>();
  for (const name of rungNames.toReversed()) names.set(ladder[name].inventory, name);
  return rungNames.filter((name) => names.get(ladder[name].inventory) === name);
}

/** The rungs whose queue is in the memory of the instance that sells. */
export const ownQueueRungs = (rungs: readonly string[]): string[] =>
  rungs.filter((name) => rungNamed(name).queueInProcess);

/** The first rung of each queue. */
export function queueFactories(rungs: readonly string[] = rungNames): Map<string, QueueFactory> {
  const names = new Map<QueueFactory, string>();
  for (const name of rungs) {
    const { queue } = rungNamed(name);
    if (queue && !names.has(queue)) names.set(queue, name);
  }
  return new Map([...names].map(([open, name]) => [name, open]));
}
