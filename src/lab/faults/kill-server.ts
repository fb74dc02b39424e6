/** SIGKILL for a server, an instance or a worker. It starts again with its data. */
import type { Fault } from './fault.ts';

export const killServer = (name: string): Fault => ({
  name: `kill ${name}`,
  async inject(lab) {
    const server = lab.server(name);
    await server.kill();
    return server.start;
  },
});
