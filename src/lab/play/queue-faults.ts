/** The faults of a race behind the sale: in the order workers, the queue's server, the database. */
import type { Rung } from '../../service/ladder/rung.ts';
import type { Lab } from '../environment/lab.ts';
import { workerNames } from '../environment/servers/service.ts';
import { exhaustConnections, killOpenTransaction } from '../faults/database.ts';
import type { WatchedFault } from '../faults/fault.ts';
import { pauseServer, restartServer, stopWorkers } from '../faults/process.ts';

type QueueFaultTarget = Pick<Rung, 'queueServer'>;

const queueFaults = {
  'workers-away': () => [stopWorkers],
  'workers-paused': (_, { shape }) => workerNames(shape).map(pauseServer),
  'queue-restarts': ({ queueServer }) => [restartServer(queueServer)],
  'database-restarts': (_, { database }) => [restartServer(database)],
  'session-killed': (_, { database }) => [killOpenTransaction(database)],
  'connections-used-up': (_, { database }) => [exhaustConnections(database)],
} as const satisfies Record<string, (target: QueueFaultTarget, lab: Lab) => WatchedFault[]>;
export type QueueFaultName = keyof typeof queueFaults;

export const isQueueFault = (name: string): name is QueueFaultName =>
  Object.hasOwn(queueFaults, name);

/** After these every instance must have connected again before a lane sells. */
const restarts: readonly QueueFaultName[] = ['queue-restarts', 'database-restarts'];
export const isRestart = (name: QueueFaultName): boolean => restarts.includes(name);

export const queueFaultsOf = (
  name: QueueFaultName,
  target: QueueFaultTarget,
  lab: Lab,
): WatchedFault[] => queueFaults[name](target, lab);
