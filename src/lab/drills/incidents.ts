/**
 * The incidents of `alive-not-consuming`, each from real events: it ends when the Sentinels have
 * promoted, or when what was broken is mended.
 */
import { saleKeys } from '../../service/connections/sale-keys.ts';
import type { Lab } from '../environment/lab.ts';
import { withRedis } from '../environment/replication.ts';
import { instanceNames, type Network } from '../environment/servers/service.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { dropConnections, dropForProcess } from '../faults/network.ts';
import { hangWorker, killServer, pauseServer, stopServer } from '../faults/process.ts';
import { loseGroup } from '../faults/redis.ts';
import type { Stage } from '../stage/stage.ts';
import { now } from './try-times.ts';

/** Of the service in this drill: short, so that a hung worker is replaced soon. */
export const progressWithinMs = 4_000;
/** From the promotion, or from the mending, to the first recorded order. */
const recordedWithinMs = 5_000;
/** A watch looks four times per limit, and its first look only starts the clock. */
const noticedWithinMs = 1.5 * progressWithinMs;

const worker = 'api-worker-1';
const silentMs = { service: 3_500, worker: 5_000 } as const;
const waitMs = 20_000;
/** An instance that does not answer is asked again. */
const readyWithinMs = 3_000;
/** So many orders wait while a worker is cut off, or its consumer group is lost. */
const waitingMin = 20;

/** What an incident needs of the drill. */
export interface IncidentScene {
  readonly stage: Stage;
  /** Accepted purchases that were sent since then. */
  readonly soldSince: (since: bigint) => number;
  /** The orders that are accepted and not recorded. */
  readonly waiting: () => Promise<number>;
}

interface Mended {
  /** From here on the service can sell and record again. */
  readonly mendedAt: bigint;
  /** What is mended later. */
  readonly after?: () => Promise<void>;
}

export interface Incident {
  /** For people. */
  readonly name: string;
  /** Of its figures. */
  readonly key: string;
  readonly recordedWithinMs: number;
  /** The longest time without a sale; without it, any. */
  readonly sellsWithinMs?: number;
  /** What /readyz of an instance must say meanwhile; without it, either. */
  readonly readyz?: 'ready' | 'not-ready';
  /** The exit codes of the processes of the service that must end. */
  readonly exitCodes: readonly number[];
  readonly play: (scene: IncidentScene) => Promise<Mended>;
}
const usual = { recordedWithinMs, exitCodes: [] } as const;
/** The service follows the Sentinels by itself. */
const failover = { ...usual, readyz: 'not-ready', sellsWithinMs: 10_000 } as const;

/**
 * The master hangs or dies once the other Redis has every write that it answered: replication does
 * not wait for a replica, so otherwise an accepted order could be lost.
 */
async function withoutMaster(
  stage: Stage,
  fault: Fault,
  master: 'redis-main' | 'redis-replica',
): Promise<Mended> {
  const { lab } = stage;
  const network = lab.network('sentinel');
  const other = master === 'redis-main' ? 'redis-replica' : 'redis-main';
  await network.level(master);
  const undo = await stage.inject(fault);
  await stage.until(`the promotion of ${other}`, waitMs, () => network.isMaster(other));
  const mendedAt = now();
  const after = async () => {
    // The old master can sell until the Sentinels have made it a replica, and then loses all of it.
    await stage.until(`every instance to sell at ${other}`, waitMs, () => areReady(lab));
    await undo();
    await stage.until(`${master} to follow`, waitMs, () => network.follows(master));
  };
  return { mendedAt, after };
}

/** Redis takes a write of each instance. */
async function areReady(lab: Lab): Promise<boolean> {
  const ports = instanceNames(lab.shape).map((name) => lab.portOf(name));
  const answers = ports.map((port) =>
    fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(readyWithinMs) }),
  );
  return (await Promise.all(answers)).every(({ ok }) => ok);
}

const frozenMaster: Incident = {
  ...{ name: 'master frozen', key: 'frozenMaster', ...failover },
  play: ({ stage }) => withoutMaster(stage, pauseServer('redis-main'), 'redis-main'),
};

/** It is the replica of before: redis-main follows it, and is promoted now. */
const killedMaster: Incident = {
  ...{ name: 'master killed', key: 'killedMaster', ...failover },
  play: ({ stage }) => withoutMaster(stage, killServer('redis-replica'), 'redis-replica'),
};

const noRedis = (forMs: number): Incident => ({
  ...{ name: `no Redis for ${forMs / 1_000} s`, key: 'noRedis', readyz: 'not-ready', ...usual },
  play: async ({ stage }) => {
    const replicas = ['redis-replica', 'redis-replica-2'];
    const names = ['sentinel-1', 'sentinel-2', 'sentinel-3', ...replicas, 'redis-main'];
    const undos: Undo[] = [];
    for (const name of names) undos.unshift(await stage.inject(stopServer(name)));
    await stage.rest(forMs);
    for (const undo of undos) await undo();
    return { mendedAt: now() };
  },
});

const silentNetwork: Incident = {
  ...{ name: 'network silent', key: 'silentNetwork', readyz: 'not-ready', ...usual },
  play: async ({ stage }) => {
    const undo = await stage.inject(dropConnections('redis-main'));
    await stage.rest(silentMs.service);
    await undo();
    return { mendedAt: now() };
  },
};

const silentForWorker: Incident = {
  ...{ name: 'network silent for the worker', key: 'silentForWorker', readyz: 'ready', ...usual },
  play: async ({ stage, waiting }) => {
    const undo = await stage.inject(dropForProcess('redis-main', stage.lab.pidOf(worker)));
    await stage.rest(silentMs.worker);
    await stage.until('orders to wait', waitMs, async () => (await waiting()) >= waitingMin);
    await undo();
    return { mendedAt: now() };
  },
};

/** The worker is paused, so that orders wait in the stream: a group from its end misses them. */
const lostGroup: Incident = {
  ...{ name: 'consumer group lost', key: 'lostGroup', ...usual },
  play: async ({ stage, soldSince }) => {
    const resume = await stage.inject(pauseServer(worker));
    const pausedAt = now();
    await stage.until('orders to wait', waitMs, () => soldSince(pausedAt) >= waitingMin);
    await stage.inject(loseGroup('redis-main')).then((end) => end());
    await stage.until('the group to be gone', waitMs, () => hasNoGroup(stage.lab));
    await resume();
    return { mendedAt: now() };
  },
};

async function hasNoGroup(lab: Lab): Promise<boolean> {
  const [shard] = saleKeys(1).shards;
  const groups = await withRedis(lab.portOf('redis-main'), (redis) =>
    redis.xinfo('GROUPS', shard?.orders ?? ''),
  );
  return Array.isArray(groups) && groups.length === 0;
}

/** Measured from the hang: nothing mends it but the worker itself. */
const hungWorker: Incident = {
  ...{ name: 'worker hung', key: 'hungWorker', readyz: 'ready', exitCodes: [75] },
  recordedWithinMs: noticedWithinMs + recordedWithinMs,
  play: async ({ stage }) => {
    const undo = await stage.inject(hangWorker(worker));
    return { mendedAt: now(), after: undo };
  },
};

export const incidentsOf = (network: Network, noRedisMs: number): readonly Incident[] =>
  network === 'sentinel'
    ? [frozenMaster, killedMaster, noRedis(noRedisMs)]
    : [silentNetwork, silentForWorker, lostGroup, hungWorker];
