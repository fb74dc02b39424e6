/** SIGKILL for one process of the service. Its primary starts another. */
import type { WatchedFault } from '../fault.ts';
import { hasEnded } from '../watch.ts';

export const killProcess = (pid: number, name = `process ${pid}`): WatchedFault => ({
  name: `kill ${name}`,
  watch: () => hasEnded(pid),
  async inject(lab) {
    process.kill(pid, 'SIGKILL');
    return () => lab.ensure(lab.shape);
  },
});
