/** The history of a critical section: granted, perhaps lost, left once. */
import type { Order } from '../domain.ts';
import { about, keepsHistory, record } from '../history.ts';
import { disposable, type Lease, once } from '../locks/lock.ts';

/** The same lease; where a history is kept, one that tells it. */
export function inHistory(lease: Lease, resource: string, order: Order): Lease {
  if (!keepsHistory()) return lease;
  const whose = { ...about(order), resource };
  const lost = () => record({ event: 'lost', ...whose });
  record({ event: 'granted', ...whose });
  lease.signal.addEventListener('abort', lost, { once: true });
  const release = once(async () => {
    lease.signal.removeEventListener('abort', lost);
    record({ event: 'left', ...whose });
    await lease.release();
  });
  return disposable({ ...lease, release });
}
