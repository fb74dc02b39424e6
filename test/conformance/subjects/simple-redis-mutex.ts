import { createRequire } from 'node:module';
import { createClient } from 'redis';
import { type Grant, type Subject, waitMs } from '../subject.ts';

const require = createRequire(import.meta.url);
const name = 'simple-redis-mutex';

/** It keeps one subscriber in the module, and a contender here stands for a process of its own. */
function loadAgain(): typeof import('simple-redis-mutex') {
  delete require.cache[require.resolve(name)];
  return require(name);
}

/** Its error has no class of its own. */
const isNotInTime = (error: unknown): boolean =>
  error instanceof Error && / could not be acquired after \d+ millis$/.test(error.message);

export const simpleRedisMutex: Subject = {
  name,
  setup: 'simple-redis-mutex 3.0.0, redis 5.9.0 with its defaults; lock() with failAfter 2000',
  needs: 'one',
  async open([url = ''], { leaseMs }) {
    const { lock } = loadAgain();
    const client = createClient({ url });
    client.on('error', () => {});
    await client.connect();
    const acquire = async (resource: string): Promise<Grant | null> => {
      try {
        const release = await lock(client, resource, { timeout: leaseMs, failAfter: waitMs });
        return { isLost: () => false, release };
      } catch (error) {
        if (isNotInTime(error)) return null;
        throw error;
      }
    };
    // Its `end` event closes the subscriber that the package keeps beside the client.
    return { acquire, close: () => client.close() };
  },
};
