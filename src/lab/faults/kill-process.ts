/** SIGKILL for one process of the service. Its primary starts another. */
import type { Fault } from './fault.ts';

export const killProcess = (pid: number, name = `process ${pid}`): Fault => ({
  name: `kill ${name}`,
  async inject(lab) {
    process.kill(pid, 'SIGKILL');
    return () => lab.ensure(lab.shape);
  },
});
