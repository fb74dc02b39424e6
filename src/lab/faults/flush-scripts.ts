/** SCRIPT FLUSH on a Redis: it knows no script any more. Clients send the scripts again. */
import { withRedis } from '../environment/replication.ts';
import type { Fault } from './fault.ts';

export const flushScripts = (name: string): Fault => ({
  name: `flush the scripts of ${name}`,
  async inject(lab) {
    await withRedis(lab.portOf(name), (redis) => redis.script('FLUSH'));
    return async () => {};
  },
});
