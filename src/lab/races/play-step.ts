/** Plays one step of a schedule: a lane runs, or its process is killed, paused or resumed. */
import type { Attempt } from '../../audit/facts.ts';
import type { Lab } from '../environment/lab.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { killProcess } from '../faults/kill-process.ts';
import { pauseProcess } from '../faults/pause-process.ts';
import type { Lanes } from './lanes.ts';
import { killed, type Played, slow, stopped, unreached } from './race-verdict.ts';
import { laneOf, type Step } from './schedules.ts';

/** A lane that has been waiting for its lock for this long waits for another lane. */
const waitingMs = 300;
/** A lane that has neither arrived nor visibly waited by then proves nothing. */
const slowMs = 10_000;
/** A rung without a lock may wait inside MySQL, where nobody sees it. */
const unseenWaitMs = 1_200;
const mostCheckpoints = 20;

export interface Stage {
  readonly lab: Lab;
  readonly lanes: Lanes;
  /** What mends the faults; by lane. */
  readonly undos: Map<string, Undo>;
  /** Waits until the lease of this lane's lock has expired. */
  readonly expire: (lane: string) => Promise<void>;
  /**
   * The process in which the lane waits for a lock: the history has its request for the lock, and
   * no answer to it.
   */
  readonly waitsIn: (lane: string) => number | undefined;
  readonly isLocked: boolean;
}

/** Where the lane is after the step. */
interface Reached {
  readonly at: string;
  readonly asPlanned: boolean;
  readonly instance?: string;
}

export async function playStep(step: Step, stage: Stage): Promise<Played> {
  const reached = await reach(step, stage);
  return { lane: laneOf(step), text: step.text, wrong: 'wrong' in step, ...reached };
}

async function reach(step: Step, stage: Stage): Promise<Reached> {
  const lane = laneOf(step);
  if ('run' in step) return runUntil(step.until, step.orUntil ?? [], lane, stage);
  if ('kill' in step) return kill(lane, stage);
  if ('pause' in step) return hit(pauseProcess, lane, stage, stopped);
  if ('resume' in step) return resume(lane, stage);
  await stage.expire(lane);
  return { asPlanned: true, at: 'time passes' };
}

async function kill(lane: string, stage: Stage): Promise<Reached> {
  const reached = await hit(killProcess, lane, stage, killed);
  if (reached.asPlanned) await stage.lanes.settled(lane, slowMs);
  return reached;
}

/** Injects the fault into the process in which the lane is paused, or waits for a lock. */
async function hit(
  fault: (pid: number) => Fault,
  lane: string,
  { lab, lanes, undos, waitsIn }: Stage,
  at: string,
): Promise<Reached> {
  const state = lanes.state(lane);
  const pid = state?.kind === 'paused' ? state.arrival.pid : waitsIn(lane);
  if (pid === undefined) return { asPlanned: false, at: unreached };
  undos.set(lane, await fault(pid).inject(lab));
  return { asPlanned: true, at };
}

async function resume(lane: string, { undos }: Stage): Promise<Reached> {
  const undo = undos.get(lane);
  if (!undo) return { asPlanned: false, at: unreached };
  await undo();
  undos.delete(lane);
  return { asPlanned: true, at: 'resumed' };
}

async function runUntil(
  until: string,
  orUntil: readonly string[],
  lane: string,
  stage: Stage,
): Promise<Reached> {
  const { lanes } = stage;
  for (let checkpoints = 0; checkpoints < mostCheckpoints; checkpoints++) {
    await lanes.resume(lane);
    const stuck = await untilSettled(lane, stage);
    if (stuck !== null && until !== 'answer') return { at: stuck, asPlanned: false };
    const state = lanes.state(lane);
    if (state?.kind === 'answered') return answered(state.attempt, until === 'answer');
    if (state?.kind !== 'paused') continue;
    const { checkpoint: at, instance } = state.arrival;
    if ([until, ...orUntil].includes(at)) return { at, instance, asPlanned: at === until };
  }
  return { at: 'waits', asPlanned: false };
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
    if (stage.waitsIn(lane) === undefined) waitingSince = Number.POSITIVE_INFINITY;
    else waitingSince = Math.min(waitingSince, performance.now());
    if (performance.now() - waitingSince >= waitingMs) return 'waits';
  }
  return slow;
}

function answered({ outcome, reason, orderId, instance }: Attempt, asPlanned: boolean): Reached {
  const at = outcome === 'accepted' ? `order ${orderId}` : String(reason);
  return instance === undefined ? { at, asPlanned } : { at, asPlanned, instance };
}
