/**
 * SIGSTOP for a server, an instance or a worker: its connections stay open, and nothing answers.
 */
import type { Fault } from './fault.ts';

export const pauseServer = (name: string): Fault => ({
  name: `pause ${name}`,
  async inject(lab) {
    const server = lab.server(name);
    await server.pause();
    return server.resume;
  },
});
