/** SIGKILL for a server, which starts again at once, with its data. */
import type { WatchedFault } from '../fault.ts';
import { isReplaced } from '../watch.ts';

export const restartServer = (name: string): WatchedFault => ({
  name: `restart ${name}`,
  watch: isReplaced(name),
  async inject(lab) {
    const server = lab.server(name);
    await server.kill();
    await server.start();
    return server.start;
  },
});
