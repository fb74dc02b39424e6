/** Plays one step of a schedule: a lane runs, or its process is killed, paused or resumed. */
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { Fault, Undo, WatchedFault } from '../faults/fault.ts';
import { killProcess, pauseProcess } from '../faults/process.ts';
import type { PlayedStep } from '../stage/events.ts';
import { workerLane } from '../stage/lane-messages.ts';
import type { Done, Missed, ReachedPlace, Wait } from '../stage/place.ts';
import { type LaneState, type Player, placeOfLane } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import { injectWatched } from './inject-watched.ts';
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
import { laneOf, type Step, serversLane } from './schedules.ts';

/**
 * A lane that has been waiting for so many milliseconds waits for another lane. Inside MySQL nobody
 * sees the wait, so it must last longer.
 */
const waitingMs: Readonly<Record<Wait, number>> = { lock: 300, row: 1_200 };
/** A lane that has neither arrived nor visibly waited by then proves nothing. */
const slowMs = 10_000;

/** What a step is played on. */
export interface Scene {
  readonly stage: Stage;
  readonly player: Player;
  /** What mends the faults; by lane, or by the name of a fault in the lock servers. */
  readonly undos: Map<string, Undo>;
  /** Waits until the lease of this lane's lock has expired, at most `expireMs`. */
  readonly expire: (lane: string) => Promise<void>;
  readonly expireMs: number;
  /** Whether the lock of this lane has a key in the Redis of the sale. */
  readonly isLocked: (lane: string) => Promise<boolean>;
  /** The process in which the lane waits, by the history. */
  readonly waitsIn: (lane: string) => number | undefined;
  readonly waitsFor: Wait;
  /** Whether an order of this race is recorded, by the history. */
  readonly isRecorded: () => boolean;
  /** What the faults in the lock servers hit; undefined where the lock has no servers. */
  readonly lockFaultTarget: (lane?: LaneState) => LockFaultTarget | undefined;
  readonly queueFaultTarget: QueueFaultTarget;
  /** Waits until every instance sells: its lock can be acquired, its stores answer. */
  readonly lockAnswers: () => Promise<void>;
}

type Reached = Pick<PlayedStep, 'place' | 'asPlanned'>;

const miss = (because: Missed): Reached => ({
  place: { is: 'missed', because },
  asPlanned: false,
});
const done = (as: Done): Reached => ({ place: { is: 'done', as }, asPlanned: true });

export async function playStep(step: Step, scene: Scene): Promise<PlayedStep> {
  const reached = await reach(step, scene);
  return { lane: laneOf(step), ...reached, says: step.says, isWrong: 'wrong' in step };
}

async function reach(step: Step, scene: Scene): Promise<Reached> {
  const lane = laneOf(step);
  if ('fault' in step)
    return isQueueFault(step.fault)
      ? injectBehind(step.fault, scene)
      : injectFault(step.fault, lane, scene);
  if ('heal' in step) return healFault(step.heal, scene);
  if ('run' in step) {
    const reached = await runUntil(step.until, step.orUntil ?? [], lane, scene);
    const isMissed = step.unlessRecorded && scene.isRecorded();
    return isMissed ? miss('recorded-anyway') : reached;
  }
  if ('kill' in step) return kill(lane, scene, step.answered);
  if ('pause' in step) return hit(pauseProcess, lane, scene, { is: 'paused' });
  if ('resume' in step) return resume(lane, scene);
  return expire(lane, scene);
}

/** A lease has expired when its key is gone; without a key, time must have passed. */
async function expire(lane: string, scene: Scene): Promise<Reached> {
  const wasLocked = await scene.isLocked(lane);
  const startedAt = performance.now();
  const undo = await scene.stage.inject(leaseEnds(lane, scene));
  await undo();
  const isLocked = await scene.isLocked(lane);
  if (wasLocked && !isLocked) return done('lease-over');
  if (performance.now() - startedAt < scene.expireMs) return miss('no-effect');
  return done(isLocked ? 'still-locked' : 'time-passes');
}

/** In the record of a drill, the time of a lease is marked, too. */
const leaseEnds = (lane: string, { expire }: Scene): Fault => ({
  name: 'the time of a lease passes',
  async inject() {
    await expire(lane);
    return async () => {};
  },
});

async function injectFault(name: LockFaultName, lane: string, scene: Scene): Promise<Reached> {
  const target = scene.lockFaultTarget(scene.player.state(lane));
  if (!target || (lane !== serversLane && target.pid === 0)) return miss('not-there');
  if (!(await isLockToLose(name, target, scene.stage.lab))) return miss('no-lock-there');
  const startedAt = performance.now();
  const reached = await injectAll(name, lockFaultsOf(name, target), scene);
  if (!reached.asPlanned) return reached;
  if (leavesLockAvailable(name)) await scene.lockAnswers();
  const isLong = performance.now() - startedAt >= target.leaseMs;
  if (endsWithinLease(name) && isLong) return miss('outlasts-the-lease');
  return reached;
}

/** Behind the sale. */
async function injectBehind(name: QueueFaultName, scene: Scene): Promise<Reached> {
  const { stage, queueFaultTarget, lockAnswers } = scene;
  const faults = queueFaultsOf(name, queueFaultTarget, stage.lab);
  const reached = await injectAll(name, faults, scene);
  if (isRestart(name)) await lockAnswers();
  return reached;
}

/** @param key of their undo */
async function injectAll(
  key: string,
  faults: readonly WatchedFault[],
  { stage, undos }: Scene,
): Promise<Reached> {
  const { undo, hasHit } = await injectWatched(faults, stage);
  undos.set(key, undo);
  if (!hasHit) return miss('no-effect');
  return done(faults.length > 0 ? 'injected' : 'nothing-to-hit');
}

async function healFault(name: LockFaultName | QueueFaultName, scene: Scene): Promise<Reached> {
  await scene.undos.get(name)?.();
  scene.undos.delete(name);
  if (!isQueueFault(name)) await scene.lockAnswers();
  return done('healed');
}

async function kill(lane: string, scene: Scene, mayBeAnswered = false): Promise<Reached> {
  const reached = await hit(killProcess, lane, scene, { is: 'dead' }, mayBeAnswered);
  if (!reached.asPlanned) return reached;
  if (lane === workerLane) scene.player.watch(lane);
  else await scene.player.settles(lane, slowMs);
  return reached;
}

/**
 * Injects the fault into the process in which the lane is paused, or waits. A lane that was
 * answered has nothing to hit there, unless the step says so.
 */
async function hit(
  fault: (pid: number, name?: string) => WatchedFault,
  lane: string,
  scene: Scene,
  place: ReachedPlace,
  mayBeAnswered = false,
): Promise<Reached> {
  const pid = processOf(lane, scene);
  const state = scene.player.state(lane);
  if (pid === undefined || (state?.kind === 'answered' && !mayBeAnswered)) return miss('not-there');
  const name = state?.kind === 'paused' ? state.arrival.instance : instanceOf(state);
  const reached = await injectAll(lane, [fault(pid, name)], scene);
  return reached.asPlanned ? { asPlanned: true, place } : reached;
}

const instanceOf = (state: LaneState | undefined): string | undefined =>
  state?.kind === 'answered' ? state.attempt.instance : undefined;

function processOf(lane: string, { stage, player, waitsIn }: Scene): number | undefined {
  const state = player.state(lane);
  if (state?.kind === 'paused') return state.arrival.pid;
  const answeredBy = instanceOf(state);
  if (answeredBy !== undefined) return stage.lab.pidOf(answeredBy);
  return state?.kind === 'running' ? waitsIn(lane) : undefined;
}

async function resume(lane: string, { undos }: Scene): Promise<Reached> {
  const undo = undos.get(lane);
  if (!undo) return miss('not-there');
  await undo();
  undos.delete(lane);
  return done('resumed');
}

async function runUntil(
  until: CheckpointName | 'answer',
  orUntil: readonly CheckpointName[],
  lane: string,
  { player, waitsFor, waitsIn }: Scene,
): Promise<Reached> {
  const limits = { withinMs: slowMs, waits: { in: waitsIn, forMs: waitingMs[waitsFor] } };
  const reached = await player.to(lane, [until, ...orUntil], limits);
  if (reached.kind === 'slow') return miss('slow');
  if (reached.kind === 'waits') return { place: { is: 'waits', on: waitsFor }, asPlanned: false };
  const place = placeOfLane(reached);
  return { place, asPlanned: until === (place.is === 'at' ? place.checkpoint : 'answer') };
}
