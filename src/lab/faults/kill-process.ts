/** SIGKILL for one process of the service. Its primary starts another. */
import type { Fault } from './fault.ts';

export const killProcess = (pid: number): Fault => ({
  name: `kill process ${pid}`,
  async inject(lab) {
    process.kill(pid, 'SIGKILL');
    return () => lab.ensure(lab.shape);
  },
});
