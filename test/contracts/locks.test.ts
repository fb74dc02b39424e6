/** Runs the contract of locks for every lock of the ladder, and for no lock at all. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Connections } from '../../src/service/connections/connections.ts';
import { lockFactories } from '../../src/service/ladder/factories.ts';
import type { LockFactory } from '../../src/service/ladder/rung.ts';
import type { Lock } from '../../src/service/locks/lock.ts';
import { noLock } from '../../src/service/locks/none.ts';
import { openConnections, patient, testConnections } from '../support/connections.ts';
import {
  type ClauseName,
  type Contestant,
  clauses,
  processClauses,
  reentrantClauses,
} from './lock.ts';
import { otherProcesses } from './other-processes.ts';

type Exceptions = Partial<Record<ClauseName, string>>;

/** The same reason for several clauses. */
const because = (reason: string, ...names: readonly ClauseName[]): Exceptions =>
  Object.fromEntries(names.map((name) => [name, reason]));

const exclusion: readonly ClauseName[] = [
  'excludes others in the same process',
  'excludes other processes',
  'never lets critical sections of several processes overlap',
  'answers null after the wait, and not before',
  'tries once when the wait is 0',
  'stops waiting at an early or late abort, and leaves nothing behind',
  'sends nothing while it waits: the release wakes it',
  'is released once, however often release is called',
  'does not release the next owner when it is released late',
  'is free within its own short lease after its owner died',
  'is free after its owner died, with the default lease',
];
const afterDeath: readonly ClauseName[] = [
  'is free within its own short lease after its owner died',
  'is free after its owner died, with the default lease',
];
const polls = because('it polls', 'sends nothing while it waits: the release wakes it');
const endless = because(
  'its lease has no end',
  'aborts its signal when the lease expires, and names the resource',
);
const neverLate = because(
  'its lease has no end',
  'does not release the next owner when it is released late',
);
const deletesAny = because(
  'it deletes the key of any owner',
  'does not release the next owner when it is released late',
);
const ownKeyUnknown = because(
  'it cannot tell its own key from the key of another owner',
  'is free before the lease ends when the answer to its grant was lost',
);
const withSession = because(
  'its lease lasts as long as its session',
  'aborts its signal when the lease expires, and names the resource',
  'does not release the next owner when it is released late',
);

/**
 * The clauses that a lock fails on purpose, with the reason. A lock without an entry fails none.
 */
const exceptions: Readonly<Record<string, Exceptions>> = {
  none: { ...endless, ...because('it excludes nobody', ...exclusion) },
  'mutex-fresh-key': { ...endless, ...because('every request locks its own object', ...exclusion) },
  'mutex-per-user': {
    ...endless,
    ...neverLate,
    ...because(
      'each process has its own mutex',
      'excludes other processes',
      'never lets critical sections of several processes overlap',
      ...afterDeath,
    ),
  },
  'redis-no-expiry': {
    ...polls,
    ...endless,
    ...neverLate,
    ...ownKeyUnknown,
    ...because('the key of a dead owner stays for ever', ...afterDeath),
    ...because(
      'it sends its release once, and its key stays for ever',
      'is free within the lease after a release that was lost',
    ),
  },
  'redis-expiry-later': { ...polls, ...deletesAny, ...ownKeyUnknown },
  'redis-expiry': { ...polls, ...deletesAny, ...ownKeyUnknown },
  'redis-owner': polls,
  'redis-atomic': polls,
  'redis-spin': polls,
  'fenced-by-redis': {
    ...polls,
    ...because(
      'its count of fences stays, so that none comes twice',
      'stops waiting at an early or late abort, and leaves nothing behind',
      'leaves no key, no subscription and no timer behind after 800 cycles',
    ),
  },
  fenced: polls,
  'zookeeper-latch': withSession,
  zookeeper: withSession,
  redlock: polls,
};

const locks = new Map<string, LockFactory>([['none', () => noLock()], ...lockFactories()]);
/** All, unless the project of the tests names some (vitest.config.ts). */
const names = process.env['LOCKS']?.split(',') ?? [...locks.keys()];
const chosen = [...locks].filter(([name]) => names.includes(name));

/** The locks whose owner may acquire them again. */
const reentrantLocks = [...locks].filter(([name]) =>
  [
    'redis-reentrant',
    'redis-reentrant-lease',
    'redis-spin',
    'redis-fair',
    'zookeeper',
    'multilock',
  ].includes(name),
);

test('every exception belongs to a lock of the ladder', () => {
  expect([...locks.keys()]).toEqual(expect.arrayContaining(Object.keys(exceptions)));
  expect([...locks.keys()]).toEqual(expect.arrayContaining(names));
});

let connections: Connections;
const opened = new Map<string, Lock>();
const processes = otherProcesses(opened);

beforeAll(async () => {
  connections = openConnections(patient);
  for (const [name, open] of chosen) opened.set(name, open(connections));
  connections.redis('admin');
  connections.zookeeper();
  connections.redlockMasters();
  await connections.ready();
});
afterAll(() => connections.close());

type Check = (withinMs: number) => Promise<void>;

function testClause(name: string, clause: ClauseName, check: Check): void {
  const reason = exceptions[name]?.[clause];
  if (reason === undefined) test(clause, () => check(10_000));
  else
    test(`fails on purpose (${reason}): ${clause}`, async () => {
      // What must not become true is not waited for so long.
      const failure = await check(1_500).catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: 'AssertionError' }); // And not a crash.
    });
}

describe.each(chosen)('%s', (name) => {
  const contestant = (withinMs = 0): Contestant => {
    const lock = opened.get(name);
    if (!lock) throw new Error(`${name} is not open`);
    return { name, lock, connections, withinMs };
  };

  test('says whether its owner may acquire it again', () => {
    const isListed = reentrantLocks.some(([listed]) => listed === name);
    expect(contestant().lock.reentrant ?? false).toBe(isListed);
  });

  for (const [clause, check] of Object.entries(clauses))
    testClause(name, clause as ClauseName, (withinMs) => check(contestant(withinMs)));
  for (const [clause, check] of Object.entries(processClauses))
    testClause(name, clause as ClauseName, () => check(name, processes));
});

describe.each(reentrantLocks)('%s', (name, open) => {
  for (const [clause, check] of Object.entries(reentrantClauses))
    test(clause, async () => {
      const connections = testConnections(patient);
      const lock = open(connections);
      await connections.ready();
      await check({ name, lock, connections, withinMs: 10_000 });
    });
});
