import Redlock, { type RedlockClient } from 'redlock';
import type { Grant, Subject } from '../subject.ts';
import { closeClients, impatient, ioredis5, openClients5 } from './clients.ts';

/** The values of its README: about two seconds of retries. */
const options = { driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 200 };

export const redlock4: Subject = {
  name: 'redlock@4.2.0',
  setup: `redlock 4.2.0, ${ioredis5}; lock() with the options of its README`,
  needs: 'majority',
  open: (urls, { leaseMs }) => open(urls, leaseMs, {}),
};

/** What its users can do about dead and hung masters. */
export const redlock4Impatient: Subject = {
  name: 'redlock@4.2.0, time-outs',
  setup: `redlock 4.2.0, the same, but ioredis 5.9.2 with ${JSON.stringify(impatient)}`,
  needs: 'majority',
  open: (urls, { leaseMs }) => open(urls, leaseMs, impatient),
};

async function open(urls: readonly string[], leaseMs: number, clientOptions: object) {
  const clients = await openClients5(urls, clientOptions);
  // ioredis also takes the arguments as a list; its types do not say so.
  const redlock = new Redlock(clients as unknown as RedlockClient[], options);
  redlock.on('clientError', () => {});
  const acquire = async (resource: string): Promise<Grant | null> => {
    try {
      const lock = await redlock.lock(resource, leaseMs);
      return { isLost: () => false, release: () => lock.unlock() };
    } catch (error) {
      if (error instanceof Redlock.LockError) return null;
      throw error;
    }
  };
  return { acquire, close: closeClients(clients) };
}
