/** Plays a schedule on real instances, through nginx, and audits what came of it. */
import { randomUUID } from 'node:crypto';
import { Agent } from 'undici';
import { collectFacts } from '../audit/collect.ts';
import type { Attempt, Facts } from '../audit/facts.ts';
import { readHistory } from '../audit/history.ts';
import type { Connections } from '../connections/connections.ts';
import { putOnSale } from '../drills/operator.ts';
import { buyOnce } from '../drills/rush.ts';
import { signToken } from '../http/tokens.ts';
import type { Lab } from '../lab/lab.ts';
import { waitUntil } from '../lab/waiting.ts';
import { type RungName, rungNamed } from '../ladder.ts';
import { resourceOf } from '../purchase/purchase.ts';
import { judge, notThere, type Played, type PlayedRace } from './judge.ts';
import { Lanes } from './lanes.ts';
import { type RaceName, type Schedule, type Step, schedules } from './schedules.ts';

/** Short leases, so that a race that waits for their end is short too. */
export const leaseMs = 3_000;
export const raceSettings = {
  LOCK_LEASE_MS: String(leaseMs),
  LOCK_WATCHDOG_MS: String(leaseMs),
  ZOOKEEPER_SESSION_MS: String(leaseMs),
  LOCK_WAIT_MS: '2000', // Longer than the player's patience, shorter than a lease.
} as const;
/** A lane that has not come to its next checkpoint by then is waiting for a lock. */
const patienceMs = 1_200;
const mostCheckpoints = 20;

export async function playRace(
  race: RaceName,
  rung: RungName,
  lab: Lab,
  connections: Connections,
): Promise<PlayedRace> {
  const schedule: Schedule = schedules[race];
  const tokenSecret = connections.config.TOKEN_SECRET;
  const { baseUrl } = lab;
  const sale = { title: `race ${race}`, stock: schedule.stock, rung, workMs: 0 };
  const voucherId = await putOnSale(baseUrl, tokenSecret, schedule.instances, sale);
  const id = randomUUID();
  const agent = new Agent({ headersTimeout: 30_000 });
  const send = async (lane: string) => {
    const userId = schedule.lanes[lane] ?? '0';
    const path = schedule.nested?.includes(lane)
      ? `lab/vouchers/${voucherId}/nested-orders`
      : `vouchers/${voucherId}/orders`;
    const intent = { userId, requestId: `${id}-${lane}` };
    return buyOnce(agent, `${baseUrl}/${path}`, intent, await signToken(tokenSecret, userId, 'user'), {
      'x-lab-lane': `${id}:${lane}`,
    });
  };
  const lanes = new Lanes(id, connections.redis('admin'), send);
  const lockOf = (lane: string) =>
    `lock:${resourceOf(rungNamed(rung).scope, { id: '', voucherId, userId: schedule.lanes[lane] ?? '', requestId: '' })}`;
  const steps: Played[] = [];
  let attempts: Attempt[] = [];
  try {
    for (const step of schedule.steps)
      steps.push(await playStep(step, lanes, () => leaseOver(connections, lockOf(laneOf(step)))));
  } finally {
    attempts = await lanes.finish(Object.keys(schedule.lanes), 20_000); // Also of a race that failed: nobody is left waiting.
    await agent.destroy();
  }
  const collected = await collectFacts(connections.mysql(), connections.redis('admin'), voucherId);
  if (!collected) throw new Error(`voucher ${voucherId} is gone`);
  const facts: Facts = { ...collected, attempts, history: readHistory(lab.historyFolder, voucherId) };
  return judge(race, rung, schedule, steps, facts);
}

const laneOf = (step: Step): string => ('run' in step ? step.run : 'kill' in step ? step.kill : step.leaseOf);

async function playStep(step: Step, lanes: Lanes, passLease: () => Promise<void>): Promise<Played> {
  const lane = laneOf(step);
  const wrong = 'wrong' in step;
  if ('leaseOf' in step) {
    await passLease();
    return { lane, says: step.says, wrong, asPlanned: true, at: 'time passes' };
  }
  if ('kill' in step) {
    const where = lanes.where(lane);
    if (where?.kind === 'at') process.kill(where.arrival.pid, 'SIGKILL');
    await lanes.settled(lane, patienceMs);
    const asPlanned = where?.kind === 'at';
    return { lane, says: step.says, wrong, asPlanned, at: asPlanned ? 'killed' : notThere };
  }
  const came = await runUntil(step.until, lane, lanes);
  return { lane, says: step.says, wrong, asPlanned: came.at === step.until, ...came };
}

async function runUntil(
  until: string,
  lane: string,
  lanes: Lanes,
): Promise<{ at: string; instance?: string }> {
  for (let checkpoints = 0; checkpoints < mostCheckpoints; checkpoints++) {
    await lanes.goOn(lane);
    if (!(await lanes.settled(lane, patienceMs)) && until !== 'answer') return { at: 'waits' };
    const where = lanes.where(lane);
    if (where?.kind === 'answered') {
      const { outcome, reason, orderId, instance } = where.attempt;
      const at = outcome === 'accepted' ? `order ${orderId}` : String(reason);
      return instance === undefined ? { at } : { at, instance };
    }
    if (where?.kind === 'at' && where.arrival.checkpoint === until)
      return { at: until, instance: where.arrival.instance };
  }
  return { at: 'waits' };
}

/** Waits until the lock's key is gone, or until a lease and a half have passed: somebody renews it, or it is no such key. */
async function leaseOver(connections: Connections, key: string): Promise<void> {
  const isThere = async () => (await connections.redis('admin').exists(key)) === 1;
  const isKey = await isThere();
  const gone = async () => isKey && !(await isThere());
  await waitUntil('the lease to end', leaseMs * 1.5, gone).catch(() => {});
}
