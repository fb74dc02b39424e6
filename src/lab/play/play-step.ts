/** Plays one step of a schedule: a lane runs, or its process is killed, paused or resumed. */
import { killProcess } from '../faults/process.ts';
import type { PlayedStep } from '../stage/events.ts';
import { type Arrival, workerLane } from '../stage/lane-messages.ts';
import type { Miss, StepEffect } from '../stage/place.ts';
import type { Player } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import type { Lanes } from './lanes.ts';
import { endsWithinLease, isLockToLose } from './lock-faults.ts';
import type { PlayFaults } from './play-faults.ts';
import { isQueueFault } from './queue-faults.ts';
import { type FaultName, type Step, type StepOf, serversLane } from './schedule.ts';
import type { ServerFaults } from './server-faults.ts';

/** A lane that has neither arrived nor visibly waited by then proves nothing. */
const slowMs = 10_000;

/** What a step is played on. */
export interface Scene {
  readonly stage: Stage;
  readonly player: Player;
  readonly lanes: Lanes;
  readonly faults: PlayFaults;
  readonly servers: ServerFaults;
  /** The lane that runs, and where it stops; every other lane stands where it arrives. */
  readonly running: { lane: string; until: readonly string[] };
  /** The arrivals that were the end of a step. A lane that came further by itself has another. */
  readonly told: Map<string, Arrival>;
  /** Ends the lease of this lane's lock, or waits until it has expired. */
  readonly expire: (lane: string) => Promise<StepEffect>;
  /** Whether an order of this race is recorded, by the history. */
  readonly isRecorded: () => boolean;
}

type StepOutcome = Pick<PlayedStep, 'place' | 'asPlanned'>;

const miss = (because: Miss): StepOutcome => ({
  place: { is: 'missed', because },
  asPlanned: false,
});
const done = (as: StepEffect): StepOutcome => ({ place: { is: 'done', as }, asPlanned: true });

export async function playStep(step: Step, scene: Scene): Promise<PlayedStep> {
  const { lane, says, wrong: isWrong = false } = step;
  return { lane, ...(await reach(step, scene)), says, isWrong };
}

function reach(step: Step, scene: Scene): Promise<StepOutcome> {
  const { lane } = step;
  switch (step.act) {
    case 'run':
      return runUntil(step, scene);
    case 'kill':
      return kill(lane, scene, step.answered);
    case 'pause':
      return pause(lane, scene);
    case 'resume':
      return resume(lane, scene);
    case 'end-lease':
      return expire(lane, scene);
    case 'mend':
      return healFault(step.fault, lane, scene);
    case 'break':
      return injectFault(step.fault, lane, scene);
  }
}

/** In the record of a drill, the time of a lease is marked, too. */
async function expire(lane: string, scene: Scene): Promise<StepOutcome> {
  let came: StepEffect | undefined;
  const inject = async () => {
    came = await scene.expire(lane);
    return async () => {};
  };
  const undo = await scene.stage.inject({ name: 'the time of a lease passes', inject });
  await undo();
  if (came === undefined) return miss('no-effect');
  return { ...done(came), asPlanned: came !== 'no-lease' };
}

async function injectFault(name: FaultName, lane: string, scene: Scene): Promise<StepOutcome> {
  const { player, servers, stage } = scene;
  const state = player.state(lane);
  const target = servers.target(state);
  if (!isQueueFault(name)) {
    if (!target || (lane !== serversLane && target.pid === 0)) return miss('not-there');
    if (!(await isLockToLose(name, target, stage.lab))) return miss('no-lock-there');
  }
  const startedAt = performance.now();
  const effect = await servers.break(name, lane, state);
  if (effect === undefined) return miss('no-effect');
  const isLong = target !== undefined && performance.now() - startedAt >= target.leaseMs;
  if (endsWithinLease(name) && isLong) return miss('outlasts-the-lease');
  return done(effect);
}

async function healFault(name: FaultName, lane: string, { servers }: Scene): Promise<StepOutcome> {
  await servers.mend(name, lane);
  return done('healed');
}

async function kill(lane: string, scene: Scene, mayBeAnswered = false): Promise<StepOutcome> {
  const { faults, lanes, player } = scene;
  const { pid, instance } = processOf(lane, scene, mayBeAnswered) ?? {};
  if (pid === undefined) return miss('not-there');
  if (lane === workerLane) {
    const hasHit = await faults.break(lane, [killProcess(pid, instance)]);
    player.watch(lane); // Another one starts.
    return hasHit ? { place: { is: 'dead' }, asPlanned: true } : miss('no-effect');
  }
  if (!(await faults.kill(lane, pid, instance))) return miss('no-effect');
  lanes.locks.died(lane);
  await player.settles(lane, slowMs);
  return { place: { is: 'dead' }, asPlanned: true };
}

async function pause(lane: string, scene: Scene): Promise<StepOutcome> {
  const { pid, instance } = processOf(lane, scene) ?? {};
  if (pid === undefined) return miss('not-there');
  if (!(await scene.faults.pause(lane, pid, instance))) return miss('no-effect');
  return { place: { is: 'paused' }, asPlanned: true };
}

async function resume(lane: string, { faults }: Scene): Promise<StepOutcome> {
  if (!faults.isPaused(lane)) return miss('not-there');
  await faults.resume(lane);
  return done('resumed');
}

interface ProcessOfLane {
  readonly pid: number;
  readonly instance: string;
}

/** A lane that was answered has no process any more, unless the step is about it all the same. */
function processOf(
  lane: string,
  { stage, player, lanes }: Scene,
  mayBeAnswered = false,
): ProcessOfLane | undefined {
  const state = player.state(lane);
  if (state?.kind === 'paused') return state.arrival;
  const instance = lanes.instanceOf(lane);
  const isOver = state?.kind === 'answered' && !mayBeAnswered;
  if (instance === undefined || isOver) return undefined;
  return { pid: stage.lab.pidOf(instance), instance };
}

async function runUntil(step: StepOf<'run'>, scene: Scene): Promise<StepOutcome> {
  const { lane, until, orUntil = [], unlessRecorded = false } = step;
  const { player, lanes, running, told, isRecorded } = scene;
  Object.assign(running, { lane, until: [until, ...orUntil] });
  const before = player.state(lane);
  if (before?.kind !== 'paused' || told.get(lane) === before.arrival) await player.resume(lane);
  const mayWait = until !== 'answer' && lane !== workerLane;
  const place = await lanes.settled(lane, mayWait, slowMs);
  const after = player.state(lane);
  if (after?.kind === 'paused') told.set(lane, after.arrival);
  if (unlessRecorded && isRecorded()) return miss('recorded-anyway');
  if (place?.is !== 'at' && place?.is !== 'answered' && place?.is !== 'waits') return miss('slow');
  const reached = place.is === 'at' ? place.checkpoint : place.is === 'answered' && 'answer';
  return { place, asPlanned: until === reached };
}
