/** SIGKILL for the worker processes of nginx: their requests are cut off, and others take over. */
import { signalProcess } from '../../environment/processes.ts';
import { untilNewWorker } from '../../environment/workers-of-nginx.ts';
import type { Fault } from '../fault.ts';

export const killWorkersOfNginx: Fault = {
  name: 'kill the worker processes of nginx',
  async inject(lab) {
    await untilNewWorker(lab.pidOf('nginx'), (workers) => {
      for (const worker of workers) signalProcess(worker, 'SIGKILL');
    });
    return async () => {};
  },
};
