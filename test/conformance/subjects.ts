/**
 * The locks that the clauses are run on: every Redis lock of the ladder, through its factory, on
 * the clients of the service; and those of other packages.
 */
import { pino } from 'pino';
import { labTokenSecret, readConfig } from '../../src/service/config.ts';
import { Connections } from '../../src/service/connections/connections.ts';
import { lockFactories } from '../../src/service/ladder/factories.ts';
import type { LockFactory } from '../../src/service/ladder/rung.ts';
import { ladder, type RungName } from '../../src/service/ladder/rungs.ts';
import type { Lease } from '../../src/service/locks/lock.ts';
import { packages } from './packages.ts';
import { type Contender, type Needs, type Subject, type Terms, waitMs } from './subject.ts';

const onMasters: Readonly<Record<string, Needs>> = { multilock: 'all', redlock: 'majority' };

const ours: readonly Subject[] = [...lockFactories()]
  .filter(([name]) => name.startsWith('redis-') || onMasters[name])
  .map(([name, factory]) => subjectOf(name, factory));

function subjectOf(name: RungName, factory: LockFactory): Subject {
  return {
    name,
    setup: 'of this project; ioredis 6 with the time-outs of the service',
    needs: onMasters[name] ?? 'one',
    claims: ladder[name].breaks.map(({ because }) => because),
    open: (urls, terms) => open(factory, urls, terms),
  };
}

async function open(
  factory: LockFactory,
  urls: readonly string[],
  { leaseMs, answerMs }: Terms,
): Promise<Contender> {
  const config = readConfig({
    MYSQL_URL: 'mysql://nobody@127.0.0.1:1/nothing', // No lock here opens it.
    REDIS_URL: urls[0],
    REDLOCK_URLS: urls.join(','),
    LOCK_LEASE_MS: String(leaseMs),
    LOCK_WATCHDOG_MS: String(leaseMs),
    TOKEN_SECRET: labTokenSecret,
    LAB: '1',
  });
  const withAnswer = { ...config, ...(answerMs !== undefined && { LOCK_ANSWER_MS: answerMs }) };
  const connections = new Connections(withAnswer, pino({ level: 'silent' }));
  const lock = factory(connections);
  await connections.ready();
  return {
    acquire: async (resource) => {
      const lease = await lock.acquire(resource, { waitMs });
      return lease && grantOf(lease);
    },
    close: () => void connections.close(),
  };
}

const grantOf = (lease: Lease) => ({
  isLost: () => lease.signal.aborted || lease.remainingMs() <= 0,
  release: () => lease.release(),
});

export const conformanceSubjects: readonly Subject[] = [...ours, ...packages];
