/** One Redis master, with its data under the lab's folder. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
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
  fsync: 'always' | 'everysec',
): Server {
  const data = join(folder, name);
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: data,
    save: '',
    appendonly: 'yes',
    appendfsync: fsync,
    'maxmemory-policy': 'noeviction',
  };
  return {
    name,
    port,
    prepare: async () => {
      mkdirSync(data, { recursive: true });
    },
    program: () => ({
      command: programPath('redis-server'),
      args: Object.entries(settings).flatMap(([key, value]) => [`--${key}`, value]),
      logFile: join(folder, `${name}.log`),
    }),
    answers: () => answers(port),
  };
}

async function answers(port: number): Promise<boolean> {
  const redis = new Redis({
    port,
    host: '127.0.0.1',
    lazyConnect: true,
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
