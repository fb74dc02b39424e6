/**
 * Alive but not consuming: the incidents after which a service runs, and records nothing.
 * `lua-stream` sells through nginx, and one incident comes after the other, each from real events:
 * it ends when the Sentinels have promoted, or when what was broken is mended. Measured is the time
 * until MySQL has an order again that was sold after the incident.
 */
import { saleKeys } from '../../service/connections/sale-keys.ts';
import type { Lab } from '../environment/lab.ts';
import { withRedis } from '../environment/replication.ts';
import { instanceNames, type Network, type ServiceShape } from '../environment/servers/service.ts';
import type { Fault } from '../faults/fault.ts';
import { dropConnections, dropForProcess } from '../faults/network.ts';
import {
  hangingWorkers,
  hangWorker,
  killServer,
  pauseServer,
  stopServer,
} from '../faults/process.ts';
import { loseGroup } from '../faults/redis.ts';
import type { Stage } from '../stage/stage.ts';
import type { Drill } from './drill.ts';
import {
  expected,
  judgeOutages,
  notReady,
  type PlayedOutages,
  type SeenOutage,
} from './expectations.ts';
import { brokenFor, type MendedOutage, type Outage, outageRung, playOutages } from './outage.ts';
import { outagePhase, phaseTable } from './phases.ts';
import { msBetween, now } from './try-times.ts';

/** Short, so that a hung worker is replaced soon. */
const progressWithinMs = 4_000;
/** From the promotion, or from the mending, to the first recorded order. */
const recordedWithinMs = 5_000;
/** A watch looks four times per limit, and its first look only starts the clock. */
const noticedWithinMs = 1.5 * progressWithinMs;
const noRedisMs = { short: 5_000, long: 45_000 } as const;

const worker = 'api-worker-1';
const silentMs = { service: 3_500, worker: 5_000 } as const;
const waitMs = 20_000;
/** An instance that does not answer is asked again. */
const readyWithinMs = 3_000;
/** So many orders wait while a worker is cut off, or its consumer group is lost. */
const waitingMin = 20;

const shapeOf = (network: Network): ServiceShape => ({
  instances: 2,
  balancer: 'nginx',
  network,
  settings: {
    HISTORY_FOLDER: '',
    PROGRESS_WITHIN_MS: String(progressWithinMs),
    CLAIM_IDLE_MS: String(progressWithinMs / 2),
    ...hangingWorkers,
  },
});

export const aliveNotConsuming: Drill = {
  about: {
    en: 'masters frozen and killed, no Redis, a silent network, no consumer group, a hung worker',
    zh: '主节点冻结或被杀、没有 Redis、网络沉默、没有消费组、消费者挂起',
  },
  takesMinutes: 1.5,
  async play(stage, { minutes, seed }) {
    const forMs = minutes < 1 ? noRedisMs.short : noRedisMs.long;
    const loads: PlayedOutages<Incident>[] = [];
    for (const network of ['sentinel', 'proxied'] as const) {
      const title = `alive-not-consuming, ${network}`;
      await stage.serve(shapeOf(network));
      loads.push(await playOutages(stage, incidentsOf(network, forMs), { title, seed, forMs }));
    }
    const seen = loads.flatMap((load) => load.seen);
    return {
      ...judgeOutages(loads),
      figures: figuresOf(seen),
      tables: [
        phaseTable(seen.map((each) => outagePhase(outageRung, each, each.brokenAt, each.until))),
      ],
    };
  },
};

interface Incident extends Outage {
  /** Of its figures. */
  readonly key: string;
}

/** A figure is missing when it did not happen. */
function figuresOf(all: readonly SeenOutage<Incident>[]): Record<string, number> {
  const recorded = all.flatMap(({ row, mendedAt, nextRecordedAt: at }) =>
    at === null ? [] : [[`${row.key}RecordedMs`, msBetween(mendedAt, at)] as const],
  );
  const ready = all.map((seen) => [`${seen.row.key}NotReady`, notReady(seen)] as const);
  const replaced = all.flatMap(({ exitCodes }) => exitCodes).length;
  return { ...Object.fromEntries([...recorded, ...ready]), processesReplaced: replaced };
}

const { turnsUnready, staysReady } = expected;
const survives = [expected.recordsAgainWithin(recordedWithinMs), expected.exitCodes()] as const;
/** The service follows the Sentinels by itself. */
const followsMaster = [...survives, turnsUnready, expected.withoutSalesFor(10_000)] as const;

/**
 * The master hangs or dies once the other Redis has every write that it answered: replication does
 * not wait for a replica, so otherwise an accepted order could be lost.
 */
async function withoutMaster(
  stage: Stage,
  fault: Fault,
  master: 'redis-main' | 'redis-replica',
): Promise<MendedOutage> {
  const { lab } = stage;
  const network = lab.network('sentinel');
  const other = master === 'redis-main' ? 'redis-replica' : 'redis-main';
  await network.level(master);
  const undo = await stage.inject(fault);
  await stage.until(`the promotion of ${other}`, waitMs, () => network.isMaster(other));
  const mendedAt = now();
  const later = async () => {
    // The old master can sell until the Sentinels have made it a replica, and then loses all of it.
    await stage.until(`every instance to sell at ${other}`, waitMs, () => areReady(lab));
    await undo();
    await stage.until(`${master} to follow`, waitMs, () => network.follows(master));
    return undefined;
  };
  return { mendedAt, later };
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
  name: { en: 'master frozen', zh: '主节点冻结' },
  key: 'frozenMaster',
  expects: followsMaster,
  play: ({ stage }) => withoutMaster(stage, pauseServer('redis-main'), 'redis-main'),
};

/** It is the replica of before: redis-main follows it, and is promoted now. */
const killedMaster: Incident = {
  name: { en: 'master killed', zh: '主节点被杀' },
  key: 'killedMaster',
  expects: followsMaster,
  play: ({ stage }) => withoutMaster(stage, killServer('redis-replica'), 'redis-replica'),
};

const everyRedis = [
  ...['sentinel-1', 'sentinel-2', 'sentinel-3', 'redis-replica', 'redis-replica-2'],
  'redis-main',
].map(stopServer);
const noRedis = (forMs: number): Incident => ({
  name: { en: `no Redis for ${forMs / 1_000} s`, zh: `没有 Redis ${forMs / 1_000} 秒` },
  key: 'noRedis',
  expects: [...survives, turnsUnready],
  play: brokenFor(forMs, ...everyRedis),
});

const silentNetwork: Incident = {
  name: { en: 'network silent', zh: '网络沉默' },
  key: 'silentNetwork',
  expects: [...survives, turnsUnready],
  play: brokenFor(silentMs.service, dropConnections('redis-main')),
};

const silentForWorker: Incident = {
  name: { en: 'network silent for the worker', zh: '消费者的网络沉默' },
  key: 'silentForWorker',
  expects: [...survives, staysReady],
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
  name: { en: 'consumer group lost', zh: '消费组丢失' },
  key: 'lostGroup',
  expects: survives,
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
  name: { en: 'worker hung', zh: '消费者挂起' },
  key: 'hungWorker',
  expects: [
    ...[expected.recordsAgainWithin(noticedWithinMs + recordedWithinMs), staysReady],
    expected.exitCodes(75),
  ],
  play: async ({ stage }) => {
    const undo = await stage.inject(hangWorker(worker));
    return { mendedAt: now(), later: async () => void (await undo()) };
  },
};

export const incidentsOf = (network: Network, noRedisForMs: number): readonly Incident[] =>
  network === 'sentinel'
    ? [frozenMaster, killedMaster, noRedis(noRedisForMs)]
    : [silentNetwork, silentForWorker, lostGroup, hungWorker];
