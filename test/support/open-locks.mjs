// Opens locks of the ladder in a process of its own, by the names of rungs that have them; `none`
// is no lock.
import { pino } from 'pino';
import { readConfig } from '../../dist/service/config.js';
import { Connections } from '../../dist/service/connections/connections.js';
import { ladder } from '../../dist/service/ladder/rungs.js';
import { noLock } from '../../dist/service/locks/none.js';

export async function openLocks(names) {
  const connections = new Connections(readConfig(), pino({ level: 'silent' }));
  const open = (name) => (name === 'none' ? noLock() : ladder[name].lock(connections));
  const locks = Object.fromEntries(names.map((name) => [name, open(name)]));
  await connections.ready();
  return locks;
}
