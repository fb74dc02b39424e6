/** FLUSHALL on a Redis: every key is gone, and every connection stays. The undo gives them back. */
import { keepCopy } from '../../environment/data-folder.ts';
import { withRedis } from '../../environment/replication.ts';
import type { Fault } from '../fault.ts';

export const flushAll = (name: string): Fault => ({
  name: `flush ${name}`,
  async inject(lab) {
    keepCopy(lab.dataFolder(name));
    await withRedis(lab.portOf(name), (redis) => redis.flushall());
    return () => lab.restoreData(name);
  },
});
