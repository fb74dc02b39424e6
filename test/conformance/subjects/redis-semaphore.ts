import { type LockOptions, Mutex, RedlockMutex } from 'redis-semaphore';
import { type Contender, type Grant, type Subject, waitMs } from '../subject.ts';
import { closeClients, ioredis6, openClients6 } from './clients.ts';

type SemaphoreMutex = Mutex | RedlockMutex;
type Make = (key: string, options: LockOptions) => SemaphoreMutex;

const options = 'its defaults (it renews), acquireTimeout 2000, and onLockLost';

function contenderOf(make: Make, leaseMs: number, close: () => void): Contender {
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

export const semaphoreMutex: Subject = {
  name: 'redis-semaphore Mutex',
  setup: `redis-semaphore 5.8.0 Mutex, ${ioredis6}; ${options}`,
  needs: 'one',
  async open([url = ''], { leaseMs }) {
    const clients = await openClients6([url]);
    const [client] = clients;
    if (!client) throw new RangeError('a mutex needs a master');
    const make: Make = (key, rest) => new Mutex(client, key, rest);
    return contenderOf(make, leaseMs, closeClients(clients));
  },
};

export const semaphoreRedlock: Subject = {
  name: 'redis-semaphore Redlock',
  setup: `redis-semaphore 5.8.0 RedlockMutex, ${ioredis6}; ${options}`,
  needs: 'majority',
  async open(urls, { leaseMs }) {
    const clients = await openClients6(urls);
    const make: Make = (key, rest) => new RedlockMutex(clients, key, rest);
    return contenderOf(make, leaseMs, closeClients(clients));
  },
};
