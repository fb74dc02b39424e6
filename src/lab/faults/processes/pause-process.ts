/**
 * SIGSTOP for one process of the service: it stays connected and does nothing, as in a long garbage
 * collection. The undo resumes it.
 */
import { isPaused } from '../../environment/process-table.ts';
import { waitUntil } from '../../environment/wait-until.ts';
import type { WatchedFault } from '../fault.ts';

export const pauseProcess = (pid: number, name = `process ${pid}`): WatchedFault => ({
  name: `pause ${name}`,
  watch: () => () => isPaused({ pid }),
  async inject() {
    process.kill(pid, 'SIGSTOP');
    await waitUntil(`${name} to stand still`, 5_000, () => isPaused({ pid }), 1);
    return async () => {
      process.kill(pid, 'SIGCONT');
    };
  },
});
