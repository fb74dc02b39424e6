/** SIGKILL for a server, which starts again at once, with its data. */
import type { Fault } from './fault.ts';

export const restartServer = (name: string): Fault => ({
  name: `restart ${name}`,
  async inject(lab) {
    const server = lab.server(name);
    await server.kill();
    await server.start();
    return server.start;
  },
});
