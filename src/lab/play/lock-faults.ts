/** The faults of a race in the servers of the rung's lock, or between them and one process. */
import type { Redis } from 'ioredis';
import type { LockService } from '../../service/ladder/rung.ts';
import type { Lab } from '../environment/lab.ts';
import { withRedis } from '../environment/replication.ts';
import { isProxied, type ProxyName } from '../environment/servers/proxies.ts';
import type { WatchedFault } from '../faults/fault.ts';
import { dropForProcess, slowConnections } from '../faults/network.ts';
import {
  blockedEventLoop,
  pauseServer,
  restartEmpty,
  restartServer,
  stopServer,
} from '../faults/process.ts';
import { flushScripts, holdReplication, promoteReplica } from '../faults/redis.ts';

export interface LockFaultTarget extends LockService {
  /** The process of the lane that the step names, and its instance. */
  readonly pid: number;
  readonly instance: string;
  /** The key in Redis of the lock that the lanes want. */
  readonly key: string;
  /** The lease of this race. */
  readonly leaseMs: number;
  /** A client of a lock server waits so long for one answer. */
  readonly answerMs: number;
}

const isRedis = (server: string): boolean => server.startsWith('redis');

const first = ({ servers }: LockService): string => servers[0] ?? '';
/** The servers without which it still has as many as it needs. */
const spare = ({ servers, needed }: LockService): readonly string[] => servers.slice(needed);
/** So many that the others are too few. */
const tooMany = ({ servers, needed }: LockService): readonly string[] =>
  servers.slice(0, servers.length - needed + 1);
const proxies = (names: readonly string[]): ProxyName[] => names.filter(isProxied);
const redisOf = (names: readonly string[]): ProxyName[] => proxies(names).filter(isRedis);

/**
 * The next owner has the lock after one to one and a half leases, and must still have it when the
 * event loop goes on. A session of ZooKeeper is renewed meanwhile.
 */
const blockedLeases = (target: LockService): number => (isRedis(first(target)) ? 1.75 : 2.5);

const lockFaults = {
  'stop-spare': (target) => spare(target).map(stopServer),
  'stop-first': (target) => [stopServer(first(target))],
  'hold-replication': (target) => redisOf([first(target)]).map(holdReplication),
  'promote-replica': (target) => redisOf([first(target)]).map(promoteReplica),
  'restart-empty': (target) => [restartEmpty(first(target))],
  'start-empty': (target) => [restartEmpty(first(target))],
  'restart-all': ({ servers }) => servers.map(restartServer),
  'flush-scripts': ({ servers }) => servers.filter(isRedis).map(flushScripts),
  'cut-off': ({ servers, pid, instance }) =>
    proxies(servers).map((name) => dropForProcess(name, pid, instance)),
  block: (target) => [blockedEventLoop(target.instance, blockedLeases(target) * target.leaseMs)],
  slow: (target) =>
    proxies(tooMany(target)).map((name) => slowConnections(name, 3 * target.answerMs)),
  pause: (target) => tooMany(target).map(pauseServer),
} as const satisfies Record<string, (target: LockFaultTarget) => WatchedFault[]>;
export type LockFaultName = keyof typeof lockFaults;

const available: readonly string[] = [
  'promote-replica',
  'restart-empty',
  'start-empty',
  'restart-all',
];

/**
 * After it every instance must connect again, and can then acquire the lock. Not so after
 * `flush-scripts`: connections stay, and the race itself shows whether the lock goes on.
 */
export const leavesLockAvailable = (name: string): boolean => available.includes(name);

/** The owner still has its lease when the servers are back: else the race is about its end. */
export const endsWithinLease = (name: string): boolean =>
  available.includes(name) && name !== 'start-empty';

/**
 * Before a server loses the lock, it must have it; and the replica that replaces it must not.
 * Without that, a race that shows no violation has proved nothing. Only Redis can be asked for its
 * key; for another kind of lock the result is true.
 */
export async function isLockToLose(
  name: LockFaultName,
  target: LockFaultTarget,
  lab: Lab,
): Promise<boolean> {
  const [server] = redisOf([first(target)]);
  const isPromoted = name === 'promote-replica';
  if (!server || !(isPromoted || name === 'restart-empty')) return true;
  if (isPromoted && (await lab.network('proxied').replicaHas(target.key))) return false;
  const has = (redis: Redis) => redis.exists(target.key);
  return (await withRedis(lab.portOf(server), has)) === 1;
}

export const lockFaultsOf = (name: LockFaultName, target: LockFaultTarget): WatchedFault[] =>
  lockFaults[name](target);
