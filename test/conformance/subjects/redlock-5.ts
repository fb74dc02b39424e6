import Redlock, { ExecutionError } from 'redlock-5';
import type { Grant, Subject } from '../subject.ts';
import { closeClients, ioredis5, openClients5 } from './clients.ts';

/** The values of its README: about two seconds of retries. */
const options = {
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 200,
  automaticExtensionThreshold: 500,
};

/** `using` renews by itself; it is the first way that the README shows. */
export const redlock5: Subject = {
  name: 'redlock@5.0.0-beta.2',
  setup: `redlock 5.0.0-beta.2, ${ioredis5}; using() with the options of its README`,
  needs: 'majority',
  async open(urls, { leaseMs }) {
    const clients = await openClients5(urls);
    const redlock = new Redlock(clients, options);
    const acquire = (resource: string) =>
      new Promise<Grant | null>((resolve, reject) => {
        let end = () => {};
        const owning = new Promise<void>((done) => {
          end = done;
        });
        const using = redlock.using([resource], leaseMs, async (signal) => {
          const release = () => {
            end();
            return using;
          };
          resolve({ isLost: () => signal.aborted, release });
          await owning;
        });
        using.catch((error: unknown) =>
          error instanceof ExecutionError ? resolve(null) : reject(error),
        );
      });
    return { acquire, close: closeClients(clients) };
  },
};
