/** Plays one step of a schedule: a lane runs, or its process is killed, paused or resumed. */
import type { Attempt } from '../../audit/facts.ts';
import type { Lab } from '../environment/lab.ts';
import type { Fault, Undo, WatchedFault } from '../faults/fault.ts';
import { killProcess } from '../faults/kill-process.ts';
import { pauseProcess } from '../faults/pause-process.ts';
import { injectWatched } from './inject-watched.ts';
import type { LaneState, Lanes } from './lanes.ts';
import {
  endsWithinLease,
  isLockToLose,
  type LockFaultName,
  type LockFaultTarget,
  leavesLockAvailable,
  lockFaultsOf,
} from './lock-faults.ts';
import {
  isQueueFault,
  isRestart,
  type QueueFaultName,
  type QueueFaultTarget,
  queueFaultsOf,
} from './queue-faults.ts';
import { workerLane } from './race-keys.ts';
import {
  killed,
  leaseOver,
  locked,
  noEffect,
  nothingToHit,
  notLocked,
  outlastsLease,
  type Played,
  paused,
  recordedAnyway,
  resumed,
  slow,
  timePasses,
  unreached,
  waits,
} from './race-verdict.ts';
import { laneOf, type Step, serversLane } from './schedules.ts';
import type { WaitsFor } from './waiting-process.ts';

/**
 * A lane that has been waiting for so many milliseconds waits for another lane. Inside MySQL nobody
 * sees the wait, so it must last longer.
 */
const waitingMs: Readonly<Record<WaitsFor, number>> = { lock: 300, store: 1_200 };
/** A lane that has neither arrived nor visibly waited by then proves nothing. */
const slowMs = 10_000;
const mostCheckpoints = 20;

export interface Stage {
  readonly lab: Lab;
  /** The one way to inject a fault: a drill records it. */
  readonly inject: (fault: Fault) => Promise<Undo>;
  readonly lanes: Lanes;
  /** What mends the faults; by lane, or by the name of a fault in the lock servers. */
  readonly undos: Map<string, Undo>;
  /** Waits until the lease of this lane's lock has expired, at most `expireMs`. */
  readonly expire: (lane: string) => Promise<void>;
  readonly expireMs: number;
  /** Whether the lock of this lane has a key in the Redis of the sale. */
  readonly isLocked: (lane: string) => Promise<boolean>;
  /** The process in which the lane waits, by the history. */
  readonly waitsIn: (lane: string) => number | undefined;
  readonly waitsFor: WaitsFor;
  /** Whether an order of this race is recorded, by the history. */
  readonly isRecorded: () => boolean;
  /** What the faults in the lock servers hit; undefined where the lock has no servers. */
  readonly lockFaultTarget: (lane?: LaneState) => LockFaultTarget | undefined;
  readonly queueFaultTarget: QueueFaultTarget;
  /** Waits until every instance sells: its lock can be acquired, its stores answer. */
  readonly lockAnswers: () => Promise<void>;
}

/** Where the lane is after the step. */
interface Reached {
  readonly at: string;
  readonly asPlanned: boolean;
  readonly instance?: string;
}

const missed: Reached = { asPlanned: false, at: unreached };

export async function playStep(step: Step, stage: Stage): Promise<Played> {
  const reached = await reach(step, stage);
  return { lane: laneOf(step), text: step.text, wrong: 'wrong' in step, ...reached };
}

async function reach(step: Step, stage: Stage): Promise<Reached> {
  const lane = laneOf(step);
  if ('fault' in step)
    return isQueueFault(step.fault)
      ? injectBehind(step.fault, stage)
      : injectFault(step.fault, lane, stage);
  if ('heal' in step) return healFault(step.heal, stage);
  if ('run' in step) {
    const reached = await runUntil(step.until, step.orUntil ?? [], lane, stage);
    const isMissed = step.unlessRecorded && stage.isRecorded();
    return isMissed ? { asPlanned: false, at: recordedAnyway } : reached;
  }
  if ('kill' in step) return kill(lane, stage, step.answered);
  if ('pause' in step) return hit(pauseProcess, lane, stage, paused);
  if ('resume' in step) return resume(lane, stage);
  return expire(lane, stage);
}

/** A lease has expired when its key is gone; without a key, time must have passed. */
async function expire(lane: string, stage: Stage): Promise<Reached> {
  const wasLocked = await stage.isLocked(lane);
  const startedAt = performance.now();
  const undo = await stage.inject(leaseEnds(lane, stage));
  await undo();
  const isLocked = await stage.isLocked(lane);
  if (wasLocked && !isLocked) return { asPlanned: true, at: leaseOver };
  if (performance.now() - startedAt < stage.expireMs) return { asPlanned: false, at: noEffect };
  return { asPlanned: true, at: isLocked ? locked : timePasses };
}

/** In the record of a drill, the time of a lease is marked, too. */
const leaseEnds = (lane: string, { expire }: Stage): Fault => ({
  name: 'the time of a lease passes',
  async inject() {
    await expire(lane);
    return async () => {};
  },
});

async function injectFault(name: LockFaultName, lane: string, stage: Stage): Promise<Reached> {
  const target = stage.lockFaultTarget(stage.lanes.state(lane));
  if (!target || (lane !== serversLane && target.pid === 0)) return missed;
  if (!(await isLockToLose(name, target, stage.lab))) return { asPlanned: false, at: notLocked };
  const startedAt = performance.now();
  const reached = await injectAll(name, lockFaultsOf(name, target), stage);
  if (!reached.asPlanned) return reached;
  if (leavesLockAvailable(name)) await stage.lockAnswers();
  const isLong = performance.now() - startedAt >= target.leaseMs;
  if (endsWithinLease(name) && isLong) return { asPlanned: false, at: outlastsLease };
  return reached;
}

/** Behind the sale. */
async function injectBehind(name: QueueFaultName, stage: Stage): Promise<Reached> {
  const { lab, queueFaultTarget, lockAnswers } = stage;
  const reached = await injectAll(name, queueFaultsOf(name, queueFaultTarget, lab), stage);
  if (isRestart(name)) await lockAnswers();
  return reached;
}

/** @param key of their undo */
async function injectAll(
  key: string,
  faults: readonly WatchedFault[],
  { lab, inject, undos }: Stage,
): Promise<Reached> {
  const { undo, hasHit } = await injectWatched(faults, lab, inject);
  undos.set(key, undo);
  if (!hasHit) return { asPlanned: false, at: noEffect };
  return { asPlanned: true, at: faults.length > 0 ? 'injected' : nothingToHit };
}

async function healFault(name: LockFaultName | QueueFaultName, stage: Stage): Promise<Reached> {
  await stage.undos.get(name)?.();
  stage.undos.delete(name);
  if (!isQueueFault(name)) await stage.lockAnswers();
  return { asPlanned: true, at: 'healed' };
}

async function kill(lane: string, stage: Stage, mayBeAnswered = false): Promise<Reached> {
  const reached = await hit(killProcess, lane, stage, killed, mayBeAnswered);
  if (!reached.asPlanned) return reached;
  if (lane === workerLane) stage.lanes.watch(lane);
  else await stage.lanes.settled(lane, slowMs);
  return reached;
}

/**
 * Injects the fault into the process in which the lane is paused, or waits. A lane that was
 * answered has nothing to hit there, unless the step says so.
 */
async function hit(
  fault: (pid: number, name?: string) => WatchedFault,
  lane: string,
  stage: Stage,
  at: string,
  mayBeAnswered = false,
): Promise<Reached> {
  const pid = processOf(lane, stage);
  const state = stage.lanes.state(lane);
  if (pid === undefined || (state?.kind === 'answered' && !mayBeAnswered)) return missed;
  const name = state?.kind === 'paused' ? state.arrival.instance : instanceOf(state);
  const reached = await injectAll(lane, [fault(pid, name)], stage);
  return reached.asPlanned ? { asPlanned: true, at } : reached;
}

const instanceOf = (state: LaneState | undefined): string | undefined =>
  state?.kind === 'answered' ? state.attempt.instance : undefined;

function processOf(lane: string, { lab, lanes, waitsIn }: Stage): number | undefined {
  const state = lanes.state(lane);
  if (state?.kind === 'paused') return state.arrival.pid;
  const answeredBy = instanceOf(state);
  if (answeredBy !== undefined) return lab.pidOf(answeredBy);
  return state?.kind === 'running' ? waitsIn(lane) : undefined;
}

async function resume(lane: string, { undos }: Stage): Promise<Reached> {
  const undo = undos.get(lane);
  if (!undo) return missed;
  await undo();
  undos.delete(lane);
  return { asPlanned: true, at: resumed };
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
  return { at: waits, asPlanned: false };
}

/**
 * @returns null when the lane is paused or answered; `waits` when it waits for a lock; `slow` when
 * neither is seen.
 */
async function untilSettled(
  lane: string,
  stage: Stage,
): Promise<typeof waits | typeof slow | null> {
  const { lanes } = stage;
  const deadline = performance.now() + slowMs;
  let waitingSince = Number.POSITIVE_INFINITY;
  while (performance.now() < deadline) {
    if (await lanes.settled(lane, 50)) return null;
    if (stage.waitsIn(lane) === undefined) waitingSince = Number.POSITIVE_INFINITY;
    else waitingSince = Math.min(waitingSince, performance.now());
    if (performance.now() - waitingSince >= waitingMs[stage.waitsFor]) return waits;
  }
  return slow;
}

function answered({ outcome, reason, orderId, instance }: Attempt, asPlanned: boolean): Reached {
  const at = outcome === 'accepted' ? `order ${orderId}` : String(reason);
  return instance === undefined ? { at, asPlanned } : { at, asPlanned, instance };
}
