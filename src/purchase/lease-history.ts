/** The history of critical sections: granted, perhaps lost, left once. */
import { currentOrder } from '../checkpoints.ts';
import { about, type HistoryEvent, keepsHistory, record } from '../history.ts';
import { disposable, type Lease, type Lock, once } from '../locks/lock.ts';

/** The same lock; where a history is kept, one that tells it. */
export function inHistory(lock: Lock): Lock {
  if (!keepsHistory()) return lock;
  return {
    ...lock,
    acquire: async (resource, options) => {
      const lease = await lock.acquire(resource, options);
      const order = currentOrder();
      return lease && order ? told(lease, { ...about(order), resource }) : lease;
    },
  };
}

function told(
  lease: Lease,
  whose: Pick<HistoryEvent, 'voucherId' | 'userId' | 'orderId' | 'resource'>,
): Lease {
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
