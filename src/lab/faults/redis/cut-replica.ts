/**
 * A replica hears nothing more of its master, which does not notice at once: the replica is paused,
 * and its connection stays open. To join again it is killed, and starts with what it had: resumed,
 * it would read what waits in the connection.
 */
import type { Fault } from '../fault.ts';

export const cutReplica = (replica: string): Fault => ({
  name: `cut ${replica} off from its master`,
  async inject(lab) {
    const server = lab.server(replica);
    await server.pause();
    return async () => {
      await server.kill();
      await server.start();
    };
  },
});
