/** Faults of nginx while it runs. */

import { childrenOf, type ProcessRef } from '../environment/process-table.ts';
import { signalProcess } from '../environment/processes.ts';
import { waitUntil } from '../environment/wait-until.ts';
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

/**
 * The worker processes of nginx, which answer the requests.
 * @param pid of its master process
 */
export const workersOfNginx = (pid: number): ProcessRef[] => childrenOf(pid);

/** Runs `act` on the worker processes, and waits until the master has started another one. */
export async function untilNewWorker(
  pid: number,
  act: (workers: readonly ProcessRef[]) => void,
): Promise<void> {
  const before = workersOfNginx(pid);
  act(before);
  const isNew = (worker: ProcessRef) => before.every((each) => each.pid !== worker.pid);
  await waitUntil('nginx to have a new worker process', 10_000, () =>
    workersOfNginx(pid).some(isNew),
  );
}
