/** Other people's locks, with the clients and the options that their READMEs give them. */
import { type EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import { createLock, LockAcquisitionError } from '@microfleet/ioredis-lock';
import { Redis as Redis6 } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { createClient } from 'redis';
import { type LockOptions, Mutex, RedlockMutex } from 'redis-semaphore';
import Redlock4, { type RedlockClient } from 'redlock';
import Redlock5, { ExecutionError } from 'redlock-5';
import { type Contender, type Grant, type Subject, waitMs } from './subject.ts';

const ioredis5 = 'ioredis 5.9.2 with its defaults';
const ioredis6 = 'ioredis 6.0.0 with its defaults';

const openClients5 = (urls: readonly string[], options: object = {}): Promise<Redis5[]> =>
  connectAll(urls.map((url) => new Redis5(url, options)));

const openClients6 = (urls: readonly string[]): Promise<Redis6[]> =>
  connectAll(urls.map((url) => new Redis6(url)));

/** An error event of a client must not end the process. */
async function connectAll<C extends EventEmitter>(clients: C[]): Promise<C[]> {
  for (const client of clients) client.on('error', () => {});
  await Promise.all(clients.map((client) => once(client, 'ready')));
  return clients;
}

const closeClients = (clients: readonly { disconnect(): void }[]) => (): void => {
  for (const client of clients) client.disconnect();
};

/** Null for the error by which a package says that the lock was not free in time. */
const unlessTaken = (
  acquiring: Promise<Grant>,
  isTaken: (error: unknown) => boolean,
): Promise<Grant | null> =>
  acquiring.catch((error: unknown) => {
    if (isTaken(error)) return null;
    throw error;
  });

/** The values of redlock's README: about two seconds of retries. */
const retries = { driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 200 };

/** A client that reports a silent or missing master soon. */
const impatient = { commandTimeout: 500, maxRetriesPerRequest: 0 } as const;

const redlock4: Subject = {
  name: 'redlock@4.2.0',
  setup: `redlock 4.2.0, ${ioredis5}; lock() with the options of its README`,
  needs: 'majority',
  open: (urls, { leaseMs }) => openRedlock4(urls, leaseMs, {}),
};

/** What its users can do about dead and hung masters. */
const redlock4Impatient: Subject = {
  name: 'redlock@4.2.0, time-outs',
  setup: `redlock 4.2.0, the same, but ioredis 5.9.2 with ${JSON.stringify(impatient)}`,
  needs: 'majority',
  open: (urls, { leaseMs }) => openRedlock4(urls, leaseMs, impatient),
};

async function openRedlock4(urls: readonly string[], leaseMs: number, clientOptions: object) {
  const clients = await openClients5(urls, clientOptions);
  // ioredis also takes the arguments as a list; its types do not say so.
  const redlock = new Redlock4(clients as unknown as RedlockClient[], retries);
  redlock.on('clientError', () => {});
  const lock = async (resource: string): Promise<Grant> => {
    const own = await redlock.lock(resource, leaseMs);
    return { isLost: () => false, release: () => own.unlock() };
  };
  const isTaken = (error: unknown) => error instanceof Redlock4.LockError;
  const acquire = (resource: string) => unlessTaken(lock(resource), isTaken);
  return { acquire, close: closeClients(clients) };
}

/** `using` renews by itself; it is the first way that the README shows. */
const redlock5: Subject = {
  name: 'redlock@5.0.0-beta.2',
  setup: `redlock 5.0.0-beta.2, ${ioredis5}; using() with the options of its README`,
  needs: 'majority',
  async open(urls, { leaseMs }) {
    const clients = await openClients5(urls);
    const redlock = new Redlock5(clients, { ...retries, automaticExtensionThreshold: 500 });
    const acquire = (resource: string) => {
      const granted = Promise.withResolvers<Grant | null>();
      const owning = Promise.withResolvers<void>();
      const using = redlock.using([resource], leaseMs, async (signal) => {
        const release = () => {
          owning.resolve();
          return using;
        };
        granted.resolve({ isLost: () => signal.aborted, release });
        await owning.promise;
      });
      using.catch((error: unknown) =>
        error instanceof ExecutionError ? granted.resolve(null) : granted.reject(error),
      );
      return granted.promise;
    };
    return { acquire, close: closeClients(clients) };
  },
};

type SemaphoreMutex = Mutex | RedlockMutex;
type Make = (key: string, options: LockOptions) => SemaphoreMutex;

const semaphoreOptions = 'its defaults (it renews), acquireTimeout 2000, and onLockLost';

function semaphoreContender(make: Make, leaseMs: number, close: () => void): Contender {
  const acquire = async (resource: string): Promise<Grant | null> => {
    let isLost = false;
    const onLockLost = () => {
      isLost = true;
    };
    const mutex = make(resource, { lockTimeout: leaseMs, acquireTimeout: waitMs, onLockLost });
    if (!(await mutex.tryAcquire())) return null;
    return { isLost: () => isLost, release: () => mutex.release() };
  };
  return { acquire, close };
}

const semaphoreMutex: Subject = {
  name: 'redis-semaphore Mutex',
  setup: `redis-semaphore 5.8.0 Mutex, ${ioredis6}; ${semaphoreOptions}`,
  needs: 'one',
  async open([url = ''], { leaseMs }) {
    const clients = await openClients6([url]);
    const [client] = clients;
    if (!client) throw new RangeError('a mutex needs a master');
    const make: Make = (key, rest) => new Mutex(client, key, rest);
    return semaphoreContender(make, leaseMs, closeClients(clients));
  },
};

const semaphoreRedlock: Subject = {
  name: 'redis-semaphore Redlock',
  setup: `redis-semaphore 5.8.0 RedlockMutex, ${ioredis6}; ${semaphoreOptions}`,
  needs: 'majority',
  async open(urls, { leaseMs }) {
    const clients = await openClients6(urls);
    const make: Make = (key, rest) => new RedlockMutex(clients, key, rest);
    return semaphoreContender(make, leaseMs, closeClients(clients));
  },
};

/** The delay of its README, and two seconds of retries. */
const ioredisLockOptions = { delay: 100, retries: 20 };

const ioredisLock: Subject = {
  name: '@microfleet/ioredis-lock',
  setup: `@microfleet/ioredis-lock 6.0.1, ${ioredis5}; delay 100 as in its README, retries 20`,
  needs: 'one',
  async open([url = ''], { leaseMs }) {
    const clients = await openClients5([url]);
    // Its types are those of ioredis 6 here, the version that this project has.
    const client = clients[0] as unknown as Redis6;
    const acquire = (resource: string) => {
      const lock = createLock(client, { timeout: leaseMs, ...ioredisLockOptions });
      const grant = { isLost: () => false, release: () => lock.release() };
      // The same class for a lock that is taken and for a Redis that is away.
      const isTaken = (error: unknown) => error instanceof LockAcquisitionError;
      return unlessTaken(
        lock.acquire(resource).then(() => grant),
        isTaken,
      );
    };
    return { acquire, close: closeClients(clients) };
  },
};

const require = createRequire(import.meta.url);
const simple = 'simple-redis-mutex';

/** It keeps one subscriber in the module, and a contender here stands for a process of its own. */
function loadAgain(): typeof import('simple-redis-mutex') {
  delete require.cache[require.resolve(simple)];
  return require(simple);
}

/** Its error has no class of its own. */
const isNotInTime = (error: unknown): boolean =>
  error instanceof Error && / could not be acquired after \d+ millis$/.test(error.message);

const simpleRedisMutex: Subject = {
  name: simple,
  setup: 'simple-redis-mutex 3.0.0, redis 5.9.0 with its defaults; lock() with failAfter 2000',
  needs: 'one',
  async open([url = ''], { leaseMs }) {
    const { lock } = loadAgain();
    const client = createClient({ url });
    client.on('error', () => {});
    await client.connect();
    const locked = async (resource: string): Promise<Grant> => {
      const release = await lock(client, resource, { timeout: leaseMs, failAfter: waitMs });
      return { isLost: () => false, release };
    };
    const acquire = (resource: string) => unlessTaken(locked(resource), isNotInTime);
    // Its `end` event closes the subscriber that the package keeps beside the client.
    return { acquire, close: () => client.close() };
  },
};

export const packages: readonly Subject[] = [
  redlock4,
  redlock4Impatient,
  redlock5,
  semaphoreMutex,
  semaphoreRedlock,
  ioredisLock,
  simpleRedisMutex,
];
