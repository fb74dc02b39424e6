/**
 * In the lab: the purchase in this async context was refused its lock, and waits for it now. A lock
 * tells it after its last checkpoint before the wait. Nothing in production.
 */
import { currentOrder } from './checkpoints.ts';
import { record } from './history.ts';

export function tellWaiting(): void {
  const order = currentOrder();
  if (order) record('waiting', order);
}
