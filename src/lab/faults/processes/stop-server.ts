/** SIGTERM for a server: it ends in order, and refuses connections. It starts with its data. */
import type { WatchedFault } from '../fault.ts';
import { ends } from '../watch.ts';

export const stopServer = (name: string): WatchedFault => ({
  name: `stop ${name}`,
  watch: ends(name),
  async inject(lab) {
    const server = lab.server(name);
    await server.stop();
    return server.start;
  },
});
