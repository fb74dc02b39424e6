/**
 * A Redis is killed, and the end of its append-only file is missing when it starts again: the disk
 * had not kept it, as after a power loss. Killing alone never shows that, since the pages of the
 * file stay in memory.
 */
import { statSync, truncateSync } from 'node:fs';
import { appendOnlyFile } from '../../environment/append-only-file.ts';
import type { Lab } from '../../environment/lab.ts';
import type { Fault } from '../fault.ts';

/** @returns the fault that takes this Redis back to now. */
export function rollBackTo(lab: Lab, name: string): Fault {
  const file = appendOnlyFile(lab.dataFolder(name));
  const { size } = statSync(file);
  return {
    name: `cut the append-only file of ${name}`,
    async inject(own) {
      const server = own.server(name);
      await server.kill();
      truncateSync(file, size);
      await server.start();
      return async () => {};
    },
  };
}
