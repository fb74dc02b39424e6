/** Plays a schedule on real instances, through nginx, and audits the result. */
import { randomUUID } from 'node:crypto';
import { Agent } from 'undici';
import type { Attempt } from '../../audit/facts.ts';
import { readHistory } from '../../audit/read-history.ts';
import type { Connections } from '../../connections/connections.ts';
import { resourceOf } from '../../domain.ts';
import { signToken } from '../../http/tokens.ts';
import { type RungName, rungNamed } from '../../ladder/rungs.ts';
import { defaultKeyPrefix } from '../../locks/lock.ts';
import type { HistoryEvent } from '../../trace/history.ts';
import type { Lab } from '../environment/lab.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Undo } from '../faults/fault.ts';
import { killProcess } from '../faults/kill-process.ts';
import { buyOnce } from '../workload/buy-once.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { drained } from '../workload/drained.ts';
import { Lanes } from './lanes.ts';
import {
  killed,
  notKilled,
  type Played,
  type PlayedRace,
  raceVerdict,
  slow,
} from './race-verdict.ts';
import { laneOf, type RaceName, type Schedule, type Step, schedules } from './schedules.ts';

/** Short leases, so that a race that waits for their end is short too. */
export const leaseMs = 3_000;
export const raceSettings = {
  LOCK_LEASE_MS: String(leaseMs),
  LOCK_WATCHDOG_MS: String(leaseMs),
  ZOOKEEPER_SESSION_MS: String(leaseMs),
  LOCK_WAIT_MS: '2000', // Longer than the player watches a waiting lane, shorter than a lease.
} as const;
/** A lane that has been waiting for its lock for this long waits for another lane. */
const waitingMs = 300;
/** A lane that has neither arrived nor visibly waited by then proves nothing. */
const slowMs = 10_000;
/** A rung without a lock may wait inside MySQL, where nobody sees it. */
const unseenWaitMs = 1_200;
const mostCheckpoints = 20;

interface Stage {
  readonly lab: Lab;
  readonly lanes: Lanes;
  readonly undos: Undo[];
  /** Waits until the lease of this lane's lock has expired. */
  readonly expire: (lane: string) => Promise<void>;
  /** True while the history has a request of this lane for a lock, and no answer to it. */
  readonly awaitsLock: (lane: string) => boolean;
  readonly isLocked: boolean;
}

export async function playRace(
  race: RaceName,
  rung: RungName,
  lab: Lab,
  connections: Connections,
): Promise<PlayedRace> {
  const schedule: Schedule = schedules[race];
  const { instances, stock } = schedule;
  const sale = { title: `race ${race}`, stock, rung };
  const voucherId = await putOnSale(lab.baseUrl, connections.config.TOKEN_SECRET, instances, sale);
  const id = randomUUID();
  const agent = new Agent({ headersTimeout: 30_000 });
  const send = sender(schedule, {
    id,
    voucherId,
    agent,
    lab,
    tokenSecret: connections.config.TOKEN_SECRET,
  });
  const lanes = new Lanes(id, connections.redis('admin'), send);
  const expire = (lane: string) => {
    const userId = schedule.lanes[lane] ?? '';
    const resource = resourceOf(rungNamed(rung).scope, { voucherId, userId });
    return leaseExpired(connections, defaultKeyPrefix + resource);
  };
  const awaitsLock = (lane: string) =>
    isWaiting(readHistory(lab.historyFolder, voucherId).history, `${id}-${lane}`);
  const isLocked = rungNamed(rung).lock !== undefined;
  const stage: Stage = { lab, lanes, expire, awaitsLock, isLocked, undos: [] };
  const steps: Played[] = [];
  let attempts: Attempt[] = [];
  try {
    for (const step of schedule.steps) steps.push(await playStep(step, stage));
  } finally {
    // After an error too: no request stays paused.
    attempts = await lanes.finish(Object.keys(schedule.lanes), 20_000);
    await agent.destroy();
    for (const undo of stage.undos) await undo();
  }
  const collected = await drained(connections, voucherId);
  const facts = { ...collected, attempts, ...readHistory(lab.historyFolder, voucherId) };
  if (schedule.forgets) await lab.serve(lab.shape); // Its process would keep the lock.
  return raceVerdict(race, rung, schedule, steps, facts);
}

interface Sending {
  readonly id: string;
  readonly voucherId: string;
  readonly agent: Agent;
  readonly lab: Lab;
  readonly tokenSecret: string;
}

/** @returns a function that sends the request of a lane. */
function sender(schedule: Schedule, { id, voucherId, agent, lab, tokenSecret }: Sending) {
  return async (lane: string): Promise<Attempt> => {
    const userId = schedule.lanes[lane] ?? '0';
    const path = schedule.nested?.includes(lane)
      ? `lab/vouchers/${voucherId}/nested-orders`
      : `vouchers/${voucherId}/orders`;
    const forgets = schedule.forgets?.includes(lane) ? { 'x-lab-forget': 'release' } : {};
    const token = await signToken(tokenSecret, userId, 'user');
    const intent = { userId, requestId: `${id}-${lane}` };
    const headers = { 'x-lab-lane': `${id}:${lane}`, ...forgets };
    return buyOnce(agent, `${lab.baseUrl}/${path}`, intent, token, headers);
  };
}

async function playStep(step: Step, stage: Stage): Promise<Played> {
  const lane = laneOf(step);
  const { text } = step;
  if ('expire' in step) {
    await stage.expire(lane);
    return { lane, text, wrong: false, asPlanned: true, at: 'time passes' };
  }
  if ('kill' in step) return { lane, text, wrong: false, ...(await kill(lane, stage)) };
  const reached = await runUntil([step.until, step.orUntil], lane, stage);
  return {
    lane,
    text,
    wrong: step.wrong ?? false,
    asPlanned: reached.at === step.until,
    ...reached,
  };
}

async function kill(
  lane: string,
  { lab, lanes, undos }: Stage,
): Promise<{ asPlanned: boolean; at: string }> {
  const state = lanes.state(lane);
  if (state?.kind !== 'paused') return { asPlanned: false, at: notKilled };
  undos.push(await killProcess(state.arrival.pid).inject(lab));
  await lanes.settled(lane, slowMs);
  return { asPlanned: true, at: killed };
}

interface Reached {
  readonly at: string;
  readonly instance?: string;
}

async function runUntil(
  until: readonly (string | undefined)[],
  lane: string,
  stage: Stage,
): Promise<Reached> {
  const { lanes } = stage;
  for (let checkpoints = 0; checkpoints < mostCheckpoints; checkpoints++) {
    await lanes.resume(lane);
    const stuck = await untilSettled(lane, stage);
    if (stuck !== null && !until.includes('answer')) return { at: stuck };
    const state = lanes.state(lane);
    if (state?.kind === 'answered') return answered(state.attempt);
    if (state?.kind === 'paused' && until.includes(state.arrival.checkpoint))
      return { at: state.arrival.checkpoint, instance: state.arrival.instance };
  }
  return { at: 'waits' };
}

/**
 * @returns null when the lane is paused or answered; `waits` when it waits for a lock; `slow` when
 * neither is seen.
 */
async function untilSettled(lane: string, stage: Stage): Promise<'waits' | 'slow' | null> {
  const { lanes, isLocked } = stage;
  if (!isLocked) return (await lanes.settled(lane, unseenWaitMs)) ? null : 'waits';
  const deadline = performance.now() + slowMs;
  let waitingSince = Number.POSITIVE_INFINITY;
  while (performance.now() < deadline) {
    if (await lanes.settled(lane, 50)) return null;
    if (!stage.awaitsLock(lane)) waitingSince = Number.POSITIVE_INFINITY;
    else waitingSince = Math.min(waitingSince, performance.now());
    if (performance.now() - waitingSince >= waitingMs) return 'waits';
  }
  return slow;
}

function isWaiting(history: readonly HistoryEvent[], requestId: string): boolean {
  const own = history.filter((event) => event.requestId === requestId);
  return own.findLast(({ resource }) => resource !== undefined)?.event === 'requested';
}

function answered({ outcome, reason, orderId, instance }: Attempt): Reached {
  const at = outcome === 'accepted' ? `order ${orderId}` : String(reason);
  return instance === undefined ? { at } : { at, instance };
}

/**
 * Resolves when the lock's key is gone; or after one and a half leases, when it is renewed or is
 * not a Redis key.
 */
async function leaseExpired(connections: Connections, key: string): Promise<void> {
  const exists = async () => (await connections.redis('admin').exists(key)) === 1;
  const existed = await exists();
  const gone = async () => existed && !(await exists());
  await waitUntil('the lease to expire', leaseMs * 1.5, gone).catch(() => {});
}
