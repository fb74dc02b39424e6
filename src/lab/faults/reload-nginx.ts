/**
 * nginx reads its configuration again (SIGHUP): a new worker process takes the next requests, and
 * the old one ends once it has answered its own. Nothing is left to mend.
 */
import { waitUntil } from '../environment/wait-until.ts';
import { workersOfNginx } from '../environment/workers-of-nginx.ts';
import type { Fault } from './fault.ts';

export const reloadNginx: Fault = {
  name: 'reload nginx',
  async inject(lab) {
    const pid = lab.pidOf('nginx');
    const before = workersOfNginx(pid);
    process.kill(pid, 'SIGHUP');
    const hasNew = () => workersOfNginx(pid).some((worker) => !before.includes(worker));
    await waitUntil('nginx to have a new worker process', 10_000, hasNew);
    return async () => {};
  },
};
