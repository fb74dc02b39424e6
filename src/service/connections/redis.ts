/**
 * One Redis client for each role. By default ioredis sends a command again after a reconnect, so a
 * purchase whose answer was lost would run twice. `maxRetriesPerRequest: 0` gives one error and at
 * most one effect.
 *
 * A connection can die without a word: its packets are dropped, and nobody closes it. So each role
 * has a `socketTimeout`: when a command waits and no data arrives for so long, ioredis destroys the
 * connection and opens a new one.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import type { Config } from '../config.ts';
import { openCluster } from './redis-cluster.ts';
import { sentinelOptions } from './redis-sentinel.ts';

/**
 * lock: short answers or none. purchase: the final rung's script. consumer: blocks in XREADGROUP,
 * so it is shared with nobody. subscriber: receives messages, and subscribes again after a
 * reconnect. admin: queries and preparation. pause: blocks a request in the lab, for a minute.
 */
export type RedisRole = 'lock' | 'purchase' | 'consumer' | 'subscriber' | 'admin' | 'pause';

/** The longest BLOCK of a consumer: its connection may be silent for so long. */
export const blockMsMax = 500;

const adminAnswerMs = 5_000;
/** A worker acknowledges as admin. A long answer may take longer, but it does not begin so late. */
const adminSilenceMs = 2_500;
const heartbeatMs = 1_000;
const pauseBetweenTriesMs = 20;

/** How often a client asks a Redis that is loading its data. ioredis waits up to ten seconds. */
export const loadingRetryMs = 100;

const reconnectMs = (tries: number) => Math.min(50 * tries, 500) + Math.random() * 50;

/**
 * No offline queue either: a command that waited there would run long after its caller got an
 * error.
 */
const sendOnce = {
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  connectTimeout: 1_000,
} as const;

/**
 * The locks subscribe again after a reconnect. ioredis would too, but nobody awaits what it sends:
 * when the client closes meanwhile, that is an unhandled rejection.
 */
export const subscribesItself = { autoResubscribe: false } as const;

/** Without an answer for this long, the command fails and the connection is destroyed. */
const within = (answerMs: number) => ({
  ...sendOnce,
  commandTimeout: answerMs,
  socketTimeout: answerMs,
});

function profile(role: RedisRole, config: Config) {
  switch (role) {
    case 'lock':
      return within(config.LOCK_ANSWER_MS);
    case 'purchase':
      return within(config.PURCHASE_ANSWER_MS);
    case 'subscriber':
      return { ...subscribesItself, maxRetriesPerRequest: null, socketTimeout: 2 * heartbeatMs };
    case 'consumer':
      // No `blockingTimeout`: it answers null for a read that Redis may still serve, and the orders
      // of that answer are dropped.
      return { ...sendOnce, socketTimeout: 3 * blockMsMax };
    case 'admin':
      return { ...within(adminAnswerMs), socketTimeout: adminSilenceMs };
    case 'pause':
      return { maxRetriesPerRequest: null };
  }
}

/**
 * READONLY: the server is a replica now, for instance an old master that came back. The client
 * connects again; the command is not sent again.
 */
const leavesReplica = ({ message }: Error): boolean => message.startsWith('READONLY');

/** A late answer still took effect: callers treat every error of a write as `unknown`. */
export function openRedis(
  url: string,
  role: RedisRole,
  config: Config,
  onError: (error: Error) => void,
): Redis {
  const { maxRetriesPerRequest, ...own } = profile(role, config);
  const isMain = url === config.REDIS_URL;
  const options = {
    ...own,
    disableClientInfo: true, // Redis 7.0 has no CLIENT SETINFO.
    connectionName: role,
    maxLoadingRetryTime: loadingRetryMs,
    reconnectOnError: leavesReplica,
    ...(isMain && config.REDIS_SENTINELS.length > 0 && sentinelOptions(config)),
  };
  const redis =
    isMain && config.REDIS_CLUSTER
      ? openCluster(config, {
          nodeOptions: options,
          reconnectMs,
          mayRepeat: role === 'subscriber' || role === 'pause',
        })
      : new Redis(url, { ...options, maxRetriesPerRequest, retryStrategy: reconnectMs });
  redis.on('error', onError);
  if (role === 'subscriber') keepAsking(redis);
  return redis;
}

/**
 * A subscriber only listens, so nothing would show that its connection is dead. On Redis Cluster
 * this asks a node, and not the connection that is subscribed.
 */
function keepAsking(redis: Redis): void {
  const asking = setInterval(() => {
    if (redis.status === 'ready') redis.ping().catch(() => {});
  }, heartbeatMs).unref();
  redis.once('end', () => clearInterval(asking));
}

/**
 * Sends again, on the next connection, a command that got no answer. Only for commands that may run
 * twice.
 * @throws the last error, after the last try.
 */
export async function untilAnswered<T>(
  redis: Redis,
  tries: number,
  reconnectMs: number,
  send: () => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await send();
    } catch (error) {
      if (tried === tries) throw error;
      // A client may still call itself ready although its connection has ended.
      await sleep(pauseBetweenTriesMs);
      await whenReady(redis, reconnectMs);
    }
  }
}

/**
 * Resolves once the client can take commands, or after `withinMs`: a server that is down must not
 * block a start.
 */
export async function whenReady(redis: Redis, withinMs: number): Promise<void> {
  const signal = AbortSignal.timeout(withinMs);
  await statusReady(redis, signal);
  await Promise.all(mastersOf(redis).map((node) => connected(node, signal)));
}

/** One listener for each client, however many wait: a hang of Redis has hundreds of them. */
const waiters = new WeakMap<Redis, Set<() => void>>();

function waitersOf(redis: Redis): Set<() => void> {
  const known = waiters.get(redis);
  if (known) return known;
  const added = new Set<() => void>();
  waiters.set(redis, added);
  redis.on('ready', () => {
    for (const settle of added) settle();
  });
  return added;
}

/**
 * Not `events.once`, which ends at the first `error`: a client emits one for each failed reconnect.
 */
async function statusReady(redis: Redis, signal: AbortSignal): Promise<void> {
  if (redis.status === 'ready') return;
  const waiting = waitersOf(redis);
  await new Promise<void>((resolve) => {
    const settle = () => {
      waiting.delete(settle);
      signal.removeEventListener('abort', settle);
      resolve();
    };
    waiting.add(settle);
    signal.addEventListener('abort', settle);
  });
}

const mastersOf = (redis: object): Redis[] =>
  redis instanceof Cluster ? redis.nodes('master') : [];

/**
 * A node of a cluster connects at its first command. Without an offline queue, the next one is
 * refused until then.
 */
async function connected(node: Redis, signal: AbortSignal): Promise<void> {
  if (node.status === 'ready') return;
  const settled = Promise.race([once(node, 'ready', { signal }), once(node, 'end', { signal })]);
  if (node.status === 'wait') node.connect().catch(() => {});
  await settled.catch(() => {});
}
