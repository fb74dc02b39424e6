/**
 * SIGSTOP for a server, an instance or a worker: its connections stay open, and nothing answers.
 */
import type { WatchedFault } from '../fault.ts';
import { standsStill } from '../watch.ts';

export const pauseServer = (name: string): WatchedFault => ({
  name: `pause ${name}`,
  watch: standsStill(name),
  async inject(lab) {
    const server = lab.server(name);
    await server.pause();
    return server.resume;
  },
});
