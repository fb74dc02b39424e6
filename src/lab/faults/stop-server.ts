/** SIGTERM for a server: it ends in order, and refuses connections. It starts with its data. */
import type { Fault } from './fault.ts';

export const stopServer = (name: string): Fault => ({
  name: `stop ${name}`,
  async inject(lab) {
    const server = lab.server(name);
    await server.stop();
    return server.start;
  },
});
