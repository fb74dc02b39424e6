/**
 * SIGSTOP for one process of the service: it stays connected and does nothing, as in a long garbage
 * collection. The undo resumes it.
 */
import type { Fault } from './fault.ts';

export const pauseProcess = (pid: number): Fault => ({
  name: `pause process ${pid}`,
  async inject() {
    process.kill(pid, 'SIGSTOP');
    return async () => {
      process.kill(pid, 'SIGCONT');
    };
  },
});
