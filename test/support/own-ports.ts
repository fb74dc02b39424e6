/** Free loopback ports of this worker's own: other files run at the same time. */
import { inject } from 'vitest';
import { freePorts } from '../../src/lab/environment/ports.ts';
import { takeName } from '../../src/lab/environment/unique-name.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';

/** VITEST_POOL_ID is the same for two workers, once another project has run before. */
async function freeNumber(): Promise<number> {
  let taken = 0;
  await waitUntil('an earlier worker to end', 60_000, async () => {
    for (let number = 1; number <= inject('workers') && taken === 0; number++)
      if (await takeName(`test worker ${number} in ${process.cwd()}`)) taken = number;
    return taken > 0;
  });
  return taken;
}

/** The number of this worker, from 1 on. No other process has it while this one lives. */
export const worker = await freeNumber();
const portsOfWorker = 1_600;

/**
 * The first of `count` in a row, above those of the labs. A killed server finds its port free
 * again.
 */
export const ownPorts = (preferred: number, count = 1): Promise<number> =>
  freePorts(preferred + worker * portsOfWorker, count);
