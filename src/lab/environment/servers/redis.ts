/** A Redis server, with its data under the lab's folder. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis, type RedisOptions } from 'ioredis';
import { programPath, type Server } from '../processes.ts';
import { durabilityOf, replicasOf, type ServiceShape } from './service.ts';

export type Fsync = 'always' | 'everysec' | 'never';

/**
 * `always` syncs to disk before it answers, so an acknowledged order survives a killed process and
 * a power loss. Nothing is ever evicted: a missing lock or stock could oversell a voucher.
 */
export function redisServer(
  name: string,
  folder: string,
  port: number,
  fsync: Fsync,
  more: Readonly<Record<string, string>> = {},
): Server {
  const data = join(folder, name);
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: data,
    save: '',
    appendonly: fsync === 'never' ? 'no' : 'yes',
    appendfsync: fsync === 'never' ? 'no' : fsync,
    'maxmemory-policy': 'noeviction',
    'repl-diskless-sync-delay': '0', // A replica is not made to wait for others.
    ...more,
  };
  return {
    name,
    port,
    prepare: async () => {
      mkdirSync(data, { recursive: true });
    },
    program: () => ({
      command: programPath('redis-server'),
      args: Object.entries(settings).flatMap(([key, value]) => [`--${key}`, ...value.split(' ')]),
      outlivesFullDisk: true,
      logFile: join(folder, `${name}.log`),
    }),
    answers: () => redisAnswers(port),
  };
}

/** Of the Redis that keeps the orders, and of its replicas, which may become the master. */
export const orderRedisSettings = (shape: ServiceShape): Record<string, string> => ({
  appendfsync: durabilityOf(shape) === 'everysec' ? 'everysec' : 'always',
  'min-replicas-to-write': String(durabilityOf(shape) === 'replica' ? replicasOf(shape) : 0),
  'min-replicas-max-lag': '2',
});

/** What a client needs besides the port. */
export type RedisAccess = Pick<RedisOptions, 'host' | 'password' | 'tls'>;

export async function redisAnswers(port: number, access: RedisAccess = {}): Promise<boolean> {
  const redis = new Redis({
    port,
    host: '127.0.0.1',
    ...access,
    lazyConnect: true,
    enableReadyCheck: false, // It may wait for seconds. While Redis loads its data, PING fails.
    retryStrategy: () => null,
  });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return (await redis.ping()) === 'PONG';
  } finally {
    redis.disconnect();
  }
}
