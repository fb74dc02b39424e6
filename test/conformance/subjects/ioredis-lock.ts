import { createLock, LockAcquisitionError } from '@microfleet/ioredis-lock';
import type { Redis } from 'ioredis';
import type { Grant, Subject } from '../subject.ts';
import { closeClients, ioredis5, openClients5 } from './clients.ts';

/** The delay of its README, and two seconds of retries. */
const options = { delay: 100, retries: 20 };

export const ioredisLock: Subject = {
  name: '@microfleet/ioredis-lock',
  setup: `@microfleet/ioredis-lock 6.0.1, ${ioredis5}; delay 100 as in its README, retries 20`,
  needs: 'one',
  async open([url = ''], { leaseMs }) {
    const clients = await openClients5([url]);
    // Its types are those of ioredis 6 here, the version that this project has.
    const client = clients[0] as unknown as Redis;
    const acquire = async (resource: string): Promise<Grant | null> => {
      const lock = createLock(client, { timeout: leaseMs, ...options });
      try {
        await lock.acquire(resource);
      } catch (error) {
        // The same class for a lock that is taken and for a Redis that is away.
        if (error instanceof LockAcquisitionError) return null;
        throw error;
      }
      return { isLost: () => false, release: () => lock.release() };
    };
    return { acquire, close: closeClients(clients) };
  },
};
