/** SIGKILL for the worker processes of nginx: their requests are cut off, and others take over. */
import { waitUntil } from '../environment/wait-until.ts';
import { workersOfNginx } from '../environment/workers-of-nginx.ts';
import type { Fault } from './fault.ts';

export const killWorkersOfNginx: Fault = {
  name: 'kill the worker processes of nginx',
  async inject(lab) {
    const pid = lab.pidOf('nginx');
    const before = workersOfNginx(pid);
    for (const worker of before) process.kill(worker, 'SIGKILL');
    const hasNew = () => workersOfNginx(pid).some((worker) => !before.includes(worker));
    await waitUntil('nginx to have a new worker process', 10_000, hasNew);
    return async () => {};
  },
};
