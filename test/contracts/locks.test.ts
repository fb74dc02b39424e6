import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import type { LockModule } from '../../src/locks/lock.ts';
import { openConnections } from '../support/connections.ts';
import { type ClauseName, type Contestant, clauses } from './lock.ts';

type Exceptions = Partial<Record<ClauseName, string>>;

const noLock = 'it lets everybody in';
const perProcess = 'another process has a mutex of its own';
const freshKey = 'every request locks an object of its own';
const asItsSession = 'its lease lasts as long as its session';
const polls = 'it asks again and again';
const endless = 'its lease has no end';

/** Every lock, and the clauses it fails on purpose with the reason. */
const locks: Record<string, { open: () => Promise<LockModule>; fails: Exceptions }> = {
  none: {
    open: () => import('../../src/locks/none.ts'),
    fails: {
      'excludes others in the same process': noLock,
      'excludes other processes': noLock,
      'never lets critical sections of several processes overlap': noLock,
      'answers null after the wait, and not before': noLock,
      'tries once when the wait is 0': noLock,
      'stops waiting when it is aborted, early or late, and leaves nothing behind': noLock,
      'asks nobody while it waits: the release calls it': noLock,
      'is released once, however often release is called': noLock,
      'tells its holder when the lease is over': endless,
      'does not touch the next holder when it is released too late': noLock,
      'is free again within the lease after its holder died': noLock,
      'is free again after its holder died, where the lock itself says how long a lease is': noLock,
    },
  },
  'process-mutex': {
    open: () => import('../../src/locks/process-mutex.ts'),
    fails: {
      'excludes other processes': perProcess,
      'never lets critical sections of several processes overlap': perProcess,
      'tells its holder when the lease is over': endless,
      'does not touch the next holder when it is released too late': endless,
      'is free again within the lease after its holder died': perProcess,
      'is free again after its holder died, where the lock itself says how long a lease is':
        perProcess,
    },
  },
  'mutex-fresh-key': {
    open: () => import('../../src/locks/mutex-fresh-key.ts'),
    fails: {
      'excludes others in the same process': freshKey,
      'excludes other processes': freshKey,
      'never lets critical sections of several processes overlap': freshKey,
      'answers null after the wait, and not before': freshKey,
      'tries once when the wait is 0': freshKey,
      'stops waiting when it is aborted, early or late, and leaves nothing behind': freshKey,
      'asks nobody while it waits: the release calls it': freshKey,
      'is released once, however often release is called': freshKey,
      'tells its holder when the lease is over': endless,
      'does not touch the next holder when it is released too late': freshKey,
      'is free again within the lease after its holder died': freshKey,
      'is free again after its holder died, where the lock itself says how long a lease is':
        freshKey,
    },
  },
  'redis-no-expiry': {
    open: () => import('../../src/locks/redis-no-expiry.ts'),
    fails: {
      'asks nobody while it waits: the release calls it': polls,
      'tells its holder when the lease is over': endless,
      'does not touch the next holder when it is released too late': endless,
      'is free again within the lease after its holder died':
        'the key of a dead holder stays for ever',
      'is free again after its holder died, where the lock itself says how long a lease is':
        'the key of a dead holder stays for ever',
    },
  },
  'redis-expiry': {
    open: () => import('../../src/locks/redis-expiry.ts'),
    fails: {
      'asks nobody while it waits: the release calls it': polls,
      'does not touch the next holder when it is released too late': 'it deletes whatever is there',
    },
  },
  'redis-owner': {
    open: () => import('../../src/locks/redis-owner.ts'),
    fails: { 'asks nobody while it waits: the release calls it': polls },
  },
  'redis-atomic': {
    open: () => import('../../src/locks/redis-atomic.ts'),
    fails: { 'asks nobody while it waits: the release calls it': polls },
  },
  'redis-message': { open: () => import('../../src/locks/redis-message.ts'), fails: {} },
  'redis-reentrant': { open: () => import('../../src/locks/redis-reentrant.ts'), fails: {} },
  'redis-spin': {
    open: () => import('../../src/locks/redis-spin.ts'),
    fails: { 'asks nobody while it waits: the release calls it': polls },
  },
  'redis-fair': { open: () => import('../../src/locks/redis-fair.ts'), fails: {} },
  zookeeper: {
    open: () => import('../../src/locks/zookeeper.ts'),
    fails: {
      'tells its holder when the lease is over': asItsSession,
      'does not touch the next holder when it is released too late': asItsSession,
    },
  },
  redlock: {
    open: () => import('../../src/locks/redlock.ts'),
    fails: { 'asks nobody while it waits: the release calls it': polls },
  },
};

describe.each(Object.entries(locks))('%s', (name, { open, fails }) => {
  let connections: Connections;
  let contestant: Contestant;

  beforeAll(async () => {
    connections = openConnections();
    contestant = { name, lock: (await open()).open(connections), connections };
    connections.redis('admin');
    connections.zookeeper();
    connections.redlockMasters();
    await connections.ready();
  });
  afterAll(() => connections.close());

  for (const [clause, holds] of Object.entries(clauses)) {
    const reason = fails[clause as ClauseName];
    const title = reason === undefined ? clause : `fails on purpose (${reason}): ${clause}`;
    test(title, async () => {
      expect(await holds(contestant)).toBe(reason === undefined);
    });
  }
});
