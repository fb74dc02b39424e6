/** FLUSHALL on redis-main, and nothing is given back: a rebuild must mend it. */
import { withRedis } from '../../environment/replication.ts';
import type { Fault } from '../fault.ts';

export const loseKeys: Fault = {
  name: 'flush redis-main',
  async inject(lab) {
    await withRedis(lab.portOf('redis-main'), (redis) => redis.flushall());
    return async () => {};
  },
};
