/** SCRIPT FLUSH on a Redis: it knows no script any more. Clients send the scripts again. */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { withRedis } from '../../environment/replication.ts';
import type { WatchedFault } from '../fault.ts';

export const flushScripts = (name: string): WatchedFault => ({
  name: `flush the scripts of ${name}`,
  /** A script of its own is known before, and must not be known after it. */
  async watch(lab) {
    const ask = <T>(work: (redis: Redis) => Promise<T>) => withRedis(lab.portOf(name), work);
    const script = `return '${randomUUID()}'`;
    const hash = String(await ask((redis) => redis.script('LOAD', script)));
    return () => ask(async (redis) => Number(await redis.script('EXISTS', hash)) === 0);
  },
  async inject(lab) {
    await withRedis(lab.portOf(name), (redis) => redis.script('FLUSH'));
    return async () => {};
  },
});
