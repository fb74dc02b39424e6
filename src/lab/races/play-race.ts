/** Plays a schedule on real instances, through nginx, and audits the result. */
import { randomUUID } from 'node:crypto';
import { Agent } from 'undici';
import type { Attempt } from '../../audit/facts.ts';
import { readHistory } from '../../audit/read-history.ts';
import type { Connections } from '../../connections/connections.ts';
import { resourceOf } from '../../domain.ts';
import { signToken } from '../../http/tokens.ts';
import type { Rung } from '../../ladder/rung.ts';
import { rungNamed } from '../../ladder/rungs.ts';
import { defaultKeyPrefix } from '../../locks/lock.ts';
import type { Lab } from '../environment/lab.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { buyOnce } from '../workload/buy-once.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { drained } from '../workload/drained.ts';
import { provideFor } from '../workload/provide.ts';
import { type LaneState, Lanes } from './lanes.ts';
import type { LockFaultTarget } from './lock-faults.ts';
import { lockProbe, noProbe } from './lock-probe.ts';
import { playStep, type Stage } from './play-step.ts';
import { workerLane } from './race-keys.ts';
import { type Played, type PlayedRace, raceVerdict, waitsForOn } from './race-verdict.ts';
import { type RaceName, type Schedule, schedules, stopsWorker } from './schedules.ts';
import { armWorker, freeWorker } from './stopped-worker.ts';
import { waitingProcess } from './waiting-process.ts';

/** Short leases, so that a race that waits for their end is short too. */
export const leaseMs = 3_000;
export const raceSettings = {
  LOCK_LEASE_MS: String(leaseMs),
  LOCK_WATCHDOG_MS: String(leaseMs),
  ZOOKEEPER_SESSION_MS: String(leaseMs),
  LOCK_WAIT_MS: '2000', // Longer than the player watches a waiting lane, shorter than a lease.
} as const;

/** What a drill adds to a race: a load of other users, and a record of the faults. */
export interface Surroundings {
  /** For the users of the load. */
  readonly moreStock: number;
  readonly inject: (lab: Lab, fault: Fault) => Promise<Undo>;
  /** Where a lane sends its request; the first lane is 0. */
  readonly addressOf: (lab: Lab, lane: number) => string;
  /** Plays the steps inside the load on this voucher. @returns the attempts of the load. */
  readonly around: (voucherId: string, play: () => Promise<void>) => Promise<readonly Attempt[]>;
  /** How long the queue may take in the end; as any other sale's without it. */
  readonly drainWithinMs?: number;
}

/** The race alone. */
export const withoutLoad: Surroundings = {
  moreStock: 0,
  inject: (lab, fault) => fault.inject(lab),
  addressOf: ({ baseUrl }) => baseUrl,
  async around(_, play) {
    await play();
    return [];
  },
};

export async function playRace(
  race: RaceName,
  rung: string,
  lab: Lab,
  connections: Connections,
  { moreStock, inject, addressOf, around, drainWithinMs }: Surroundings = withoutLoad,
): Promise<PlayedRace> {
  const schedule: Schedule = schedules[race];
  const { instances, stock } = schedule;
  const sale = { title: `race ${race}`, stock: stock + moreStock, rung };
  const tokenSecret = connections.config.TOKEN_SECRET;
  await provideFor(lab, rung);
  const voucherId = await putOnSale(lab.baseUrl, tokenSecret, instances, sale);
  const id = randomUUID();
  const agent = new Agent({ headersTimeout: 30_000 });
  const baseUrlOf = (lane: string) => addressOf(lab, Object.keys(schedule.lanes).indexOf(lane));
  const send = sender(schedule, { id, voucherId, agent, baseUrlOf, tokenSecret });
  const lanes = new Lanes(id, connections.labRedis(), send);
  const isProbed = rungNamed(rung).lockService || rungNamed(rung).queue;
  const probe = isProbed ? await lockProbe(lab, rung, connections) : noProbe;
  const { lockAnswers } = probe;
  const stage: Stage = {
    ...stageOf({ id, voucherId, schedule, rung: rungNamed(rung) }, lab, connections),
    ...{ lab, lanes, lockAnswers, inject: (fault) => inject(lab, fault), undos: new Map() },
  };
  let steps: Played[] = [];
  let own: Attempt[] = [];
  const play = async () => {
    try {
      if (stopsWorker(schedule)) {
        await armWorker(connections.labRedis(), id);
        lanes.watch(workerLane);
      }
      steps = await playSteps(schedule, stage);
    } finally {
      await freeWorker(connections.labRedis(), id);
      own = await lanes.finish(Object.keys(schedule.lanes), 20_000);
      await agent.destroy();
    }
  };
  await lockAnswers(); // A fault before may have cut connections,
  await probe.workersRecord(); // or killed a worker.
  const others = await around(voucherId, play);
  await connections.ready();
  const collected = await drained(connections, voucherId, drainWithinMs);
  const attempts = [...own, ...others];
  const facts = { ...collected, attempts, ...readHistory(lab.historyFolder, voucherId) };
  if (schedule.forgets) await lab.serve(lab.shape); // Its process would keep the lock.
  return raceVerdict(race, rung, schedule, { steps, stops: lanes.stops }, facts);
}

interface Raced {
  readonly id: string;
  readonly voucherId: string;
  readonly schedule: Schedule;
  readonly rung: Rung;
}

/** The parts of the stage that depend on the rung. */
function stageOf(
  { id, voucherId, schedule, rung }: Raced,
  { historyFolder }: Lab,
  connections: Connections,
) {
  const keyOf = (lane: string) => {
    const userId = schedule.lanes[lane] ?? '';
    return defaultKeyPrefix + resourceOf(rung.scope, { voucherId, userId });
  };
  const waitsFor = waitsForOn(rung);
  return {
    waitsFor,
    waitsIn: (lane: string) => waitingProcess(historyFolder, `${id}-${lane}`, waitsFor),
    isRecorded: () =>
      readHistory(historyFolder, voucherId).history.some(({ event }) => event === 'recorded'),
    expire: (lane: string) => leaseExpired(connections, keyOf(lane)),
    expireMs,
    isLocked: (lane: string) => hasKey(connections, keyOf(lane)).catch(() => false),
    queueFaultTarget: { queueServer: rung.queueServer },
    lockFaultTarget: (lane?: LaneState) => lockFaultTarget(rung, keyOf('A'), connections, lane),
  } as const;
}

/** After an error too: no process and no request stays paused. */
async function playSteps({ steps }: Schedule, stage: Stage): Promise<Played[]> {
  const played: Played[] = [];
  try {
    for (const step of steps) played.push(await playStep(step, stage));
  } finally {
    for (const undo of [...stage.undos.values()].reverse()) await undo();
  }
  return played;
}

function lockFaultTarget(
  { lockService }: Rung,
  key: string,
  { config }: Connections,
  lane?: LaneState,
): LockFaultTarget | undefined {
  if (!lockService) return undefined;
  const { pid = 0, instance = '' } = lane?.kind === 'paused' ? lane.arrival : {};
  return { ...lockService, key, pid, instance, leaseMs, answerMs: config.LOCK_ANSWER_MS };
}

interface Sending {
  readonly id: string;
  readonly voucherId: string;
  readonly agent: Agent;
  readonly baseUrlOf: (lane: string) => string;
  readonly tokenSecret: string;
}

/** @returns a function that sends the request of a lane. */
function sender(schedule: Schedule, { id, voucherId, agent, baseUrlOf, tokenSecret }: Sending) {
  return async (lane: string): Promise<Attempt> => {
    const userId = schedule.lanes[lane] ?? '0';
    const path = schedule.nested?.includes(lane)
      ? `lab/vouchers/${voucherId}/nested-orders`
      : `vouchers/${voucherId}/orders`;
    const forgets = schedule.forgets?.includes(lane) ? { 'x-lab-forget': 'release' } : {};
    const token = await signToken(tokenSecret, userId, 'user');
    const intent = { userId, requestId: `${id}-${lane}` };
    const headers = { 'x-lab-lane': `${id}:${lane}`, ...forgets };
    return buyOnce(agent, `${baseUrlOf(lane)}/${path}`, intent, token, headers);
  };
}

/** A lease that nobody renews has expired after it. */
const expireMs = leaseMs * 1.5;

/** Resolves when the lock's key is gone; or late, when it is renewed or is not a Redis key. */
async function leaseExpired(connections: Connections, key: string): Promise<void> {
  const existed = await hasKey(connections, key).catch(() => false);
  const gone = async () => existed && !(await hasKey(connections, key));
  await waitUntil('the lease to expire', expireMs, gone).catch(() => {});
}

const hasKey = async (connections: Connections, key: string): Promise<boolean> =>
  (await connections.redis('admin').exists(key)) === 1;
