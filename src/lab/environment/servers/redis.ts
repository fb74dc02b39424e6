/** A Redis server, with its data under the lab's folder. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Durability } from '../../../config.ts';
import { programPath } from '../processes.ts';
import type { Server } from './server.ts';

/**
 * `always` syncs to disk before it answers, so an acknowledged order survives a killed process and
 * a power loss. Nothing is ever evicted: a missing lock or stock could oversell a voucher.
 */
export function redisServer(
  name: string,
  folder: string,
  port: number,
  fsync: 'always' | 'everysec' | 'never',
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

/** Of the Redis that keeps the orders, and of its replica, which may become the master. */
export const orderRedisSettings = (durability: Durability): Record<string, string> => ({
  appendfsync: durability === 'everysec' ? 'everysec' : 'always',
  'min-replicas-to-write': durability === 'replica' ? '1' : '0',
  'min-replicas-max-lag': '2',
});

export async function redisAnswers(port: number): Promise<boolean> {
  const redis = new Redis({
    port,
    host: '127.0.0.1',
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
