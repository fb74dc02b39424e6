/** After each choice: the few values in the stores that decide a play, and what it has broken. */
import type { Redis } from 'ioredis';
import { audit } from '../../service/audit/audit.ts';
import { evidenceOf } from '../../service/audit/check.ts';
import { confirmed, type Facts, type OrderRow } from '../../service/audit/facts.ts';
import type { Connections } from '../../service/connections/connections.ts';
import { type CheckName, resourceOf } from '../../service/domain.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { defaultKeyPrefix } from '../../service/locks/lock.ts';
import { recordedEvidence } from '../../texts/evidence.ts';
import { type JudgedPromises, notRead, type PlayedLane, type Reading } from '../stage/events.ts';
import type { LaneLocks } from './lane-locks.ts';
import { lockClients } from './lock-clients.ts';
import { isAboutData } from './race-verdict.ts';

interface ReadingScope {
  readonly connections: Connections;
  readonly rung: Rung;
  readonly facts: Facts;
  readonly lanes: readonly PlayedLane[];
  readonly locks: LaneLocks;
}

/** Locks first, then the stock, then the orders. */
export async function readingsOf(asked: ReadingScope): Promise<Reading[]> {
  const { facts, lanes } = asked;
  const { mysql, redis, initialStock } = facts;
  const orders = confirmed(facts);
  const users = new Set(lanes.map(({ userId }) => userId).filter(Boolean));
  return [
    ...(await lockReadings(asked)),
    { id: 'stock-mysql', of: String(initialStock), value: String(mysql.stock) },
    ...(redis
      ? [{ id: 'stock-redis', of: String(initialStock), value: String(redis.stock ?? '') } as const]
      : []),
    ...(redis?.buyers ? [onItsWay(redis.buyers, orders)] : []),
    ...[...users].map((of): Reading => {
      const own = orders.filter(({ userId }) => userId === of);
      return { id: 'orders', of, value: own.map(({ id }) => id).join(' ') };
    }),
  ];
}

/** Sold in Redis, and not in MySQL. */
function onItsWay(buyers: Readonly<Record<string, string>>, orders: readonly OrderRow[]): Reading {
  const recorded = new Set(orders.map(({ id }) => id));
  const missing = Object.values(buyers).filter((id) => !recorded.has(id));
  return { id: 'on-its-way', of: '', value: missing.join(' ') };
}

function lockReadings(asked: ReadingScope): Promise<Reading[]> | Reading[] {
  const { lock, lockService } = asked.rung;
  if (!lock) return [];
  if (!lockService) return mutexReadings(asked);
  const [first = ''] = lockService.servers;
  if (first.startsWith('redis')) return keyReadings(asked);
  return resourcesOf(asked).map((resource) => ownedReading('node', first, resource, asked));
}

const mutexReadings = (asked: ReadingScope): Reading[] =>
  asked.lanes.flatMap(({ instance }) =>
    resourcesOf(asked).map((resource) =>
      ownedReading('mutex', instance, `${instance} ${resource}`, asked),
    ),
  );

function ownedReading(
  id: 'mutex' | 'node',
  of: string,
  place: string,
  { locks }: ReadingScope,
): Reading {
  const lane = locks.newestAt(place);
  return { id, of, value: lane ?? '', ...(lane && { lane }) };
}

const resourcesOf = ({ rung, facts: { voucherId }, lanes }: ReadingScope): string[] => [
  ...new Set(lanes.map(({ userId }) => resourceOf(rung.scope, { voucherId, userId }))),
];

/** On every server of the lock: a majority of them is a quorum. */
const keyReadings = (asked: ReadingScope): Promise<Reading[]> =>
  Promise.all(
    resourcesOf(asked).flatMap((resource) =>
      lockClients(asked.connections, asked.rung).map(([server, redis]) =>
        keyReading(redis, server, resource, asked),
      ),
    ),
  );

/** A string, or Redisson's hash of owner → count. Only the history says which lane it is. */
async function keyReading(
  redis: Redis,
  of: string,
  resource: string,
  { locks }: ReadingScope,
): Promise<Reading> {
  const key = defaultKeyPrefix + resource;
  const unread: Reading = { id: 'key', of, value: notRead };
  if (redis.status !== 'ready') return unread;
  const said = await Promise.all([redis.type(key), redis.pttl(key)]).catch(() => null);
  if (said === null) return unread; // It stands still, or is too slow.
  const [type, leftMs] = said;
  if (type === 'none') return { id: 'key', of, value: '' };
  const value =
    type === 'hash'
      ? Object.entries(await redis.hgetall(key)).map(([owner, count]) => `${owner} ${count}`)[0]
      : await redis.get(key);
  const lane = locks.newestAt(resource);
  return {
    id: 'key',
    of,
    value: value ?? '',
    ...(lane && { lane }),
    ...(leftMs >= 0 && { leftMs }),
  };
}

/** What no later step of a play makes right again. */
const lasting: readonly CheckName[] = ['one-order-per-user', 'no-oversell'];

/** @param isFinal no purchase is under way any more: no check about data is left out */
export function judgedPromises(facts: Facts, isFinal: boolean): JudgedPromises {
  const isAsked = (check: CheckName) => (isFinal ? isAboutData(check) : lasting.includes(check));
  const findings = audit(facts).findings.filter(({ check }) => isAsked(check));
  const broken = findings.filter(({ verdict }) => verdict === 'violated');
  const unknown = findings.filter(({ verdict }) => verdict === 'unknown');
  return {
    isFinal,
    broken: broken.map((finding) => ({
      check: finding.check,
      orders: finding.orders ?? [],
      ...recordedEvidence(evidenceOf(finding)),
    })),
    unknown: isFinal ? unknown.map(({ check }) => check) : [],
  };
}
