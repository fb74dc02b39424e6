/** The faults of a soak: what each breaks, whom it can hit, and for how long. */
import type { Lab } from '../environment/lab.ts';
import type { ProxyName } from '../environment/servers/proxies.ts';
import { blockedEventLoop, steppedClock } from '../faults/clock.ts';
import type { Fault } from '../faults/fault.ts';
import { cutOneByOne, loseAnswers, resetConnections } from '../faults/network.ts';
import { killWorkersOfNginx, reloadNginx } from '../faults/nginx.ts';
import { killServer, pauseServer } from '../faults/process.ts';
import { flushScripts, fullDisk, loseGroup } from '../faults/redis.ts';

/** The processes that a fault of the service hits: those that stand at a checkpoint. */
export interface FaultTarget {
  readonly lab: Lab;
  readonly instance: string;
  readonly worker: string;
  /** The processes in which something stands at a checkpoint. */
  readonly standing: readonly number[];
  /** From the injection to the undo. */
  readonly forMs: number;
  /** Of the sequence in which a fault hits several processes. */
  readonly seed: number;
}

interface SoakFault {
  /** Whose checkpoints it is played at: those of a purchase, of an order worker, or of both. */
  readonly hits: 'purchase' | 'worker' | 'both';
  /** The purchases must be in the instance that it hits, and not where nginx sends them. */
  readonly isOfInstance?: true;
  readonly leastMs: number;
  readonly mostMs: number;
  /** It spoils the connections to this server: it must find some. */
  readonly needsConnectionsTo?: ProxyName;
  readonly fault: (place: FaultTarget) => Fault;
}

/** Another worker claims the orders of one that stands still for so long. */
export const claimIdleMs = 1_500;
const pastClaimMs = { leastMs: claimIdleMs + 500, mostMs: 2 * claimIdleMs } as const;
const short = { leastMs: 100, mostMs: 600 } as const;
/** At most longer than a purchase waits for its answer. */
const long = { leastMs: 200, mostMs: 2_400 } as const;
const once = { leastMs: 50, mostMs: 200 } as const;

/** The most that an instance accepts. */
const clockStepMs = 600_000;

/** From one process that is cut off to the next. */
const nextCutMs = 100;

const redis = 'redis-main' satisfies ProxyName;
const database = 'database' satisfies ProxyName;

const resets = (server: ProxyName) => ({
  needsConnectionsTo: server,
  fault: () => resetConnections(server),
});
const loses = (server: ProxyName) => ({
  needsConnectionsTo: server,
  fault: () => loseAnswers(server),
});
const cuts = (server: ProxyName) => ({
  needsConnectionsTo: server,
  fault: ({ seed, standing }: FaultTarget) => cutOneByOne(server, seed, nextCutMs, standing),
});

const ofInstance = { hits: 'purchase', isOfInstance: true } as const;

const table = {
  'kill instance': { ...ofInstance, ...short, fault: ({ instance }) => killServer(instance) },
  'pause instance': { ...ofInstance, ...long, fault: ({ instance }) => pauseServer(instance) },
  'block instance': {
    ...{ ...ofInstance, ...long },
    fault: ({ instance, forMs }) => blockedEventLoop(instance, forMs),
  },
  'step clock of instance back': {
    ...{ ...ofInstance, ...short },
    fault: ({ instance }) => steppedClock(instance, -clockStepMs),
  },
  'step clock of instance forward': {
    ...{ ...ofInstance, ...short },
    fault: ({ instance }) => steppedClock(instance, clockStepMs),
  },
  'kill nginx': { hits: 'purchase', ...short, fault: () => killServer('nginx') },
  'pause nginx': { hits: 'purchase', ...long, fault: () => pauseServer('nginx') },
  'kill workers of nginx': { hits: 'purchase', ...once, fault: () => killWorkersOfNginx },
  'reload nginx': { hits: 'purchase', ...once, fault: () => reloadNginx },
  'flush scripts': { hits: 'purchase', ...once, fault: () => flushScripts(redis) },
  'pause whole service': { hits: 'both', ...long, fault: () => pauseServer('service') },
  'kill redis-main': { hits: 'both', ...short, fault: () => killServer(redis) },
  'pause redis-main': { hits: 'both', ...long, fault: () => pauseServer(redis) },
  'fill disk of redis-main': { hits: 'both', ...short, fault: () => fullDisk(redis) },
  'reset redis-main': { hits: 'both', ...short, ...resets(redis) },
  'lose answers of redis-main': { hits: 'both', ...long, ...loses(redis) },
  'cut from redis-main one by one': { hits: 'both', ...once, ...cuts(redis) },
  'lose consumer group': { hits: 'worker', ...once, fault: () => loseGroup(redis) },
  'kill worker': { hits: 'worker', ...short, fault: ({ worker }) => killServer(worker) },
  'pause worker': { hits: 'worker', ...pastClaimMs, fault: ({ worker }) => pauseServer(worker) },
  'kill database': { hits: 'worker', ...short, fault: ({ lab }) => killServer(lab.database) },
  'pause database': { hits: 'worker', ...long, fault: ({ lab }) => pauseServer(lab.database) },
  'reset database': { hits: 'worker', ...short, ...resets(database) },
  'lose answers of database': { hits: 'worker', ...long, ...loses(database) },
  'cut from database one by one': { hits: 'worker', ...once, ...cuts(database) },
} as const satisfies Record<string, SoakFault>;
export type SoakFaultName = keyof typeof table;
export const soakFaults: Readonly<Record<SoakFaultName, SoakFault>> = table;
export const soakFaultNames = Object.keys(table) as SoakFaultName[];
