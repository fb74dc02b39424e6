/** The faults that have a verb of `lockstep fault`; `lab.heal()` is the undo of all of them. */

import type { Lab } from '../environment/lab.ts';
import { proxyNamed } from '../environment/servers/proxies.ts';
import { labError } from '../errors.ts';
import { blockedEventLoop, steppedClock } from './clock.ts';
import type { Fault } from './fault.ts';
import {
  delayRequests,
  dropConnections,
  expireSession,
  refuseConnections,
  resetConnections,
  slowConnections,
} from './network.ts';
import { killServer, pauseServer, restartEmpty, restartServer, stopServer } from './process.ts';
import { flushAll, flushScripts, fullDisk, holdReplication, promoteReplica } from './redis.ts';

interface Verb {
  /** For people, after the name of the server. */
  readonly done: string;
  readonly fault: (target: string, ms: number, lab: Lab) => Fault;
}

const redis = (name: string): string => {
  const isOfService = name.startsWith('redis-') && name !== 'redis-lab';
  if (!isOfService) throw labError('NOT_A_REDIS', name);
  return name;
};

export const verbs = {
  stop: { done: 'is stopped (SIGTERM)', fault: (name) => stopServer(name) },
  kill: { done: 'is killed (SIGKILL)', fault: (name) => killServer(name) },
  pause: {
    done: 'is paused (SIGSTOP): its connections stay open, and nothing answers',
    fault: (name) => pauseServer(name),
  },
  restart: {
    done: 'was killed, and runs again with its data',
    fault: (name) => restartServer(name),
  },
  'restart-empty': {
    done: 'was killed, and runs without its data',
    fault: (name) => restartEmpty(name),
  },
  'flush-all': {
    done: 'has lost every key (FLUSHALL); mended, it has a copy from before',
    fault: (name) => flushAll(redis(name)),
  },
  'flush-scripts': {
    done: 'has forgotten its scripts',
    fault: (name) => flushScripts(redis(name)),
  },
  'fill-disk': {
    done: 'has no space on its disk: it refuses writes, or ends',
    fault: (name) => fullDisk(redis(name)),
  },
  slow: { done: 'answers late', fault: (name, ms) => slowConnections(proxyNamed(name), ms) },
  delay: {
    done: 'gets every request late, also after its client has closed the connection',
    fault: (name, ms) => delayRequests(proxyNamed(name), ms),
  },
  drop: {
    done: 'is cut off: connections stay open, and nothing arrives',
    fault: (name) => dropConnections(proxyNamed(name)),
  },
  reset: { done: 'resets every connection', fault: (name) => resetConnections(proxyNamed(name)) },
  refuse: {
    done: 'refuses every connection',
    fault: (name) => refuseConnections(proxyNamed(name)),
  },
  'hold-replication': {
    done: 'has a replica that hears nothing more',
    fault: (name) => holdReplication(proxyNamed(redis(name))),
  },
  'promote-replica': {
    done: 'is killed, and its replica is the master',
    fault: (name) => promoteReplica(proxyNamed(redis(name))),
  },
  'block-event-loop': { done: 'does nothing', fault: (name, ms) => blockedEventLoop(name, ms) },
  'step-clock-back': {
    done: 'has a wall clock that is behind',
    fault: (name, ms) => steppedClock(name, -ms),
  },
  'step-clock-forward': {
    done: 'has a wall clock that is ahead',
    fault: (name, ms) => steppedClock(name, ms),
  },
  'expire-session': {
    done: 'has lost its session in ZooKeeper',
    fault: (name, _, lab) => expireSession(lab.pidOf(name), name),
  },
} as const satisfies Record<string, Verb>;
export type FaultVerb = keyof typeof verbs;

/** It has happened, and is over. */
export const isMomentary = (verb: FaultVerb): boolean =>
  isOneOf(verb, ['restart', 'restart-empty', 'flush-scripts', 'expire-session']);

/** Where it is there already, it changes nothing. */
export const isLasting = (verb: FaultVerb): boolean =>
  isOneOf(verb, ['fill-disk', 'hold-replication', 'promote-replica']) || isOfNetwork(verb);

/** It is done in front of the server, which need not run. */
const isOfNetwork = (verb: FaultVerb): boolean =>
  isOneOf(verb, ['slow', 'delay', 'drop', 'reset', 'refuse']);

const isOneOf = (verb: FaultVerb, verbs: readonly FaultVerb[]): boolean => verbs.includes(verb);

/** An API instance, or an order worker: the service starts another one. */
export const isServiceProcess = (server: string): boolean => server.startsWith('api-');

/** @returns what is so already, where nothing would change. @throws SERVER_DOWN */
export function soAlready(lab: Lab, verb: FaultVerb, server: string): string | null {
  const state = lab.stateOf(server);
  if (state === 'paused' && verb === 'pause') return already(server, 'is paused');
  if (state !== 'stopped' || isOfNetwork(verb) || verb === 'promote-replica') return null;
  if (isServiceProcess(server)) {
    if (lab.stateOf('service') === 'stopped') throw labError('SERVER_DOWN', 'service');
    return null;
  }
  if (verb === 'stop' || verb === 'kill') return already(server, 'is stopped');
  throw labError('SERVER_DOWN', server);
}

export const already = (server: string, what: string): string =>
  `Nothing changes: ${server} ${what} already.`;

/** Undoes what was done to its process. @returns what is so now. @throws SERVER_DOWN */
export async function runAgain(lab: Lab, verb: 'start' | 'resume', name: string): Promise<string> {
  const state = lab.stateOf(name);
  if (state === 'runs') return already(name, 'runs');
  if (state === 'stopped' && verb === 'resume') throw labError('SERVER_DOWN', name);
  const server = lab.server(name);
  await server.resume();
  await server.start();
  return `${name} runs.`;
}
