/** Which Redis is the master: makes a replica follow, and gives a master its place back. */
import { Redis } from 'ioredis';
import { loadingRetryMs } from '../../service/connections/redis.ts';
import { waitUntil } from './wait-until.ts';

const syncedWithinMs = 15_000;

/** The replica has every key of this master, and gets what is written from now on. */
export async function follow(replicaPort: number, masterPort: number): Promise<void> {
  await withRedis(replicaPort, async (replica) => {
    await replica.replicaof('127.0.0.1', masterPort);
  });
  await waitUntil(`the copy of the Redis on port ${masterPort}`, syncedWithinMs, () =>
    isCopyOf(replicaPort, masterPort),
  );
}

/** The replica becomes a master, with what it has. */
export const promote = (port: number): Promise<void> =>
  withRedis(port, async (redis) => {
    await redis.replicaof('NO', 'ONE');
  });

export async function roleOf(port: number): Promise<'master' | 'slave'> {
  return withRedis(port, async (redis) => {
    const [role] = (await redis.role()) as ['master' | 'slave'];
    return role;
  });
}

/** True when it has every key of this master, and gets what is written from now on. */
export const isCopyOf = async (replicaPort: number, masterPort: number): Promise<boolean> =>
  (await isConnectedTo(replicaPort, masterPort)) && hasAllOf(replicaPort, masterPort);

const isConnectedTo = (replicaPort: number, masterPort: number): Promise<boolean> =>
  withRedis(replicaPort, async (replica) => {
    const [role, , port, state] = (await replica.role()) as [string, string, number, string];
    return role === 'slave' && port === masterPort && state === 'connected';
  });

/**
 * The replica has everything that the master has now. The offset counts the bytes of one history
 * of writes, so that it says nothing about a Redis with another history. The state `connected` is
 * not enough either: a proxy may have sent the port of the master to another Redis just before.
 */
export async function hasAllOf(replicaPort: number, masterPort: number): Promise<boolean> {
  const wanted = await writesOf(masterPort);
  const present = await writesOf(replicaPort);
  return present.history === wanted.history && present.offset >= wanted.offset;
}

/** Which history of writes this server has, and how much of it. */
const writesOf = (port: number): Promise<{ history: string; offset: number }> =>
  withRedis(port, async (redis) => {
    const info = await redis.info('replication');
    const field = (name: string) => new RegExp(`^${name}:(\\w+)`, 'm').exec(info)?.[1] ?? '';
    return { history: field('master_replid'), offset: Number(field('master_repl_offset')) };
  });

/** A master that was replaced gets the data of the one that replaced it, and its place back. */
export async function restoreMaster(masterPort: number, promotedPort: number): Promise<void> {
  await follow(masterPort, promotedPort);
  await promote(masterPort);
  await waitUntil('the copy to be on disk', syncedWithinMs, () => isOnDisk(masterPort));
}

/** After a full copy Redis begins a new append-only file; until then the old data is on disk. */
export const isOnDisk = (port: number): Promise<boolean> =>
  withRedis(port, async (redis) => {
    const info = await redis.info('persistence');
    return /aof_rewrite_in_progress:0/.test(info) && /aof_rewrite_scheduled:0/.test(info);
  });

/** A connection for a few commands. */
export async function withRedis<T>(port: number, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({
    port,
    host: '127.0.0.1',
    lazyConnect: true,
    commandTimeout: 5_000,
    maxLoadingRetryTime: loadingRetryMs,
  });
  redis.on('error', () => {});
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}
