/** The worker processes of the lab's nginx, which answer the requests. */
import { childrenOf } from './process-table.ts';

/** @param pid of nginx's master process */
export const workersOfNginx = (pid: number): number[] =>
  childrenOf(pid, 'PATH').map((child) => child.pid);
