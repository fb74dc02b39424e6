/** Faults of nginx while it runs. */

import { signalProcess } from '../environment/processes.ts';
import { untilNewWorker } from '../environment/workers-of-nginx.ts';
import type { Fault, FaultRow } from './fault.ts';

/**
 * nginx reads its configuration again (SIGHUP): a new worker process takes the next requests, and
 * the old one ends once it has answered its own. Nothing is left to mend.
 */
export const reloadNginx: Fault = {
  name: 'reload nginx',
  async inject(lab) {
    const pid = lab.pidOf('nginx');
    await untilNewWorker(pid, () => void process.kill(pid, 'SIGHUP'));
    return async () => {};
  },
};

/** SIGKILL for the worker processes of nginx: their requests are cut off, and others take over. */
export const killWorkersOfNginx: Fault = {
  name: 'kill the worker processes of nginx',
  async inject(lab) {
    await untilNewWorker(lab.pidOf('nginx'), (workers) => {
      for (const worker of workers) signalProcess(worker, 'SIGKILL');
    });
    return async () => {};
  },
};

export const nginxFaults = {
  'reload-nginx': { hits: 'nginx', effect: 'momentary', on: () => reloadNginx },
  'kill-workers-of-nginx': { hits: 'nginx', effect: 'momentary', on: () => killWorkersOfNginx },
} as const satisfies Record<string, FaultRow>;
