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
import type { Lab } from '../environment/lab.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { buyOnce } from '../workload/buy-once.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { drained } from '../workload/drained.ts';
import { Lanes } from './lanes.ts';
import { playStep, type Stage } from './play-step.ts';
import { type Played, type PlayedRace, raceVerdict } from './race-verdict.ts';
import { type RaceName, type Schedule, schedules } from './schedules.ts';
import { waitingProcess } from './waiting-process.ts';

/** Short leases, so that a race that waits for their end is short too. */
export const leaseMs = 3_000;
export const raceSettings = {
  LOCK_LEASE_MS: String(leaseMs),
  LOCK_WATCHDOG_MS: String(leaseMs),
  ZOOKEEPER_SESSION_MS: String(leaseMs),
  LOCK_WAIT_MS: '2000', // Longer than the player watches a waiting lane, shorter than a lease.
} as const;

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
  const waitsFor = rungNamed(rung).lock === undefined ? 'store' : 'lock';
  const waitsIn = (lane: string) => waitingProcess(lab.historyFolder, `${id}-${lane}`, waitsFor);
  const stage: Stage = { lab, lanes, expire, waitsIn, waitsFor, undos: new Map() };
  const steps: Played[] = [];
  let attempts: Attempt[] = [];
  try {
    for (const step of schedule.steps) steps.push(await playStep(step, stage));
  } finally {
    // After an error too: no process and no request stays paused.
    for (const undo of stage.undos.values()) await undo();
    attempts = await lanes.finish(Object.keys(schedule.lanes), 20_000);
    await agent.destroy();
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
