// Opens locks of the ladder in a process of its own, by the names of rungs that have them; `none`
// is no lock.
import { pino } from 'pino';
import { readConfig } from '../../dist/config.js';
import { Connections } from '../../dist/connections/connections.js';
import { ladder } from '../../dist/ladder/rungs.js';
import { noLock } from '../../dist/locks/none.js';

export async function openLocks(names) {
  const connections = new Connections(readConfig(), pino({ level: 'silent' }));
  const open = (name) => (name === 'none' ? noLock() : ladder[name].lock(connections));
  const locks = Object.fromEntries(names.map((name) => [name, open(name)]));
  await connections.ready();
  return locks;
}
