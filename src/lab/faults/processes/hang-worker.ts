/**
 * An order worker hangs: it runs, its connections stay open, its stores answer, and it never gets
 * an answer to its read. Only its own watch can find that. The undo kills it, if it still runs.
 */
import { fileURLToPath } from 'node:url';
import { isAlive, processRef } from '../../environment/process-table.ts';
import { killWithChildren } from '../../environment/processes.ts';
import type { Fault } from '../fault.ts';

const preload = new URL('../../../../dist/lab/in-service/hang-on-signal.js', import.meta.url);

/** The settings of a service whose workers can hang. */
export const hangingWorkers = { NODE_OPTIONS: `--import ${fileURLToPath(preload)}` } as const;

export const hangWorker = (name: string): Fault => ({
  name: `hang ${name}`,
  async inject(lab) {
    const hung = processRef(lab.pidOf(name));
    if (hung) process.kill(hung.pid, 'SIGUSR2');
    return async () => {
      if (hung && isAlive(hung)) await killWithChildren(hung);
      await lab.server(name).start();
    };
  },
});
