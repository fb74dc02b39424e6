// Opens a lock of the ladder in a process of its own, by the name of a rung that has it; `none` is
// no lock.
import { pino } from 'pino';
import { readConfig } from '../../dist/config.js';
import { Connections } from '../../dist/connections/connections.js';
import { ladder } from '../../dist/ladder/rungs.js';
import { noLock } from '../../dist/locks/none.js';

export async function openLock(name) {
  const connections = new Connections(readConfig(), pino({ level: 'silent' }));
  const lock = name === 'none' ? noLock() : ladder[name].lock(connections);
  await connections.ready();
  return lock;
}
