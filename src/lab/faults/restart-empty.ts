/** SIGKILL for a server, which starts again without its data. The undo gives the data back. */
import { existsSync } from 'node:fs';
import { putAside } from '../environment/data-folder.ts';
import { NoDataToLose } from '../errors.ts';
import type { Fault } from './fault.ts';

export const restartEmpty = (name: string): Fault => ({
  name: `restart ${name} empty`,
  async inject(lab) {
    const server = lab.server(name);
    const folder = lab.dataFolder(name);
    if (!existsSync(folder)) throw new NoDataToLose(name);
    await server.kill();
    putAside(folder);
    await server.start();
    return () => lab.restoreData(name);
  },
});
