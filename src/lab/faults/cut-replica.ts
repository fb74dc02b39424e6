/**
 * A replica hears nothing more of its master: it is paused, and then the master closes its
 * connection. Paused alone, it would read later what waits in the connection.
 */
import { withRedis } from '../environment/replication.ts';
import type { Fault } from './fault.ts';

export const cutReplica = (replica: string, master: string): Fault => ({
  name: `cut ${replica} off from ${master}`,
  async inject(lab) {
    const server = lab.server(replica);
    await server.pause();
    await withRedis(lab.portOf(master), (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'replica'));
    return server.resume;
  },
});
