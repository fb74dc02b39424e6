/** The worker processes of the lab's nginx, which answer the requests. */
import { childrenOf, type ProcessRef } from './process-table.ts';
import { waitUntil } from './wait-until.ts';

/** @param pid of nginx's master process */
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
