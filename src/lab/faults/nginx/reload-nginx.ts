/**
 * nginx reads its configuration again (SIGHUP): a new worker process takes the next requests, and
 * the old one ends once it has answered its own. Nothing is left to mend.
 */
import { untilNewWorker } from '../../environment/workers-of-nginx.ts';
import type { Fault } from '../fault.ts';

export const reloadNginx: Fault = {
  name: 'reload nginx',
  async inject(lab) {
    const pid = lab.pidOf('nginx');
    await untilNewWorker(pid, () => void process.kill(pid, 'SIGHUP'));
    return async () => {};
  },
};
