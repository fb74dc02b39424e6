/** SIGKILL for a server, which starts again without its data. The undo gives the data back. */

import { existsSync } from 'node:fs';
import { isKept, putAside } from '../../environment/data-folder.ts';
import { labError } from '../../errors.ts';
import type { WatchedFault } from '../fault.ts';
import { isReplaced } from '../watch.ts';

export const restartEmpty = (name: string): WatchedFault => ({
  name: `restart ${name} empty`,
  async watch(lab) {
    const replaced = await isReplaced(name)(lab);
    return async () => (await replaced()) && isKept(lab.dataFolder(name));
  },
  async inject(lab) {
    const server = lab.server(name);
    const folder = lab.dataFolder(name);
    if (!existsSync(folder)) throw labError('NO_DATA_TO_LOSE', name);
    await server.kill();
    putAside(folder);
    await server.start();
    return () => lab.restoreData(name);
  },
});
