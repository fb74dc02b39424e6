/**
 * A Redis may use little more memory than it uses now. When that is used up, it refuses every write
 * that needs some (OOM), as `maxmemory-policy noeviction` says, until memory is freed.
 */
import { withRedis } from '../../environment/replication.ts';
import type { Fault } from '../fault.ts';

export const limitMemory = (name: string, moreBytes: number): Fault => ({
  name: `limit the memory of ${name}`,
  async inject(lab) {
    const port = lab.portOf(name);
    await withRedis(port, async (redis) => {
      const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
      await redis.config('SET', 'maxmemory', String(used + moreBytes));
    });
    return () =>
      withRedis(port, async (redis) => {
        await redis.config('SET', 'maxmemory', '0');
      });
  },
});
