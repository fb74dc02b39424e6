/** SIGKILL for a server, an instance or a worker. It starts again with its data. */
import type { WatchedFault } from '../fault.ts';
import { ends } from '../watch.ts';

export const killServer = (name: string): WatchedFault => ({
  name: `kill ${name}`,
  watch: ends(name),
  async inject(lab) {
    const server = lab.server(name);
    await server.kill();
    return server.start;
  },
});
