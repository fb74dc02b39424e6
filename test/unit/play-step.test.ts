/** A fault of a race that takes longer than the lease: then the race proves nothing about it. */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Lab } from '../../src/lab/environment/lab.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Fault, Undo } from '../../src/lab/faults/fault.ts';
import { playStep, type Scene } from '../../src/lab/play/play-step.ts';
import { expire, fault, kill, run, sigstop } from '../../src/lab/play/schedule.ts';
import type { Done, Missed } from '../../src/lab/stage/place.ts';
import type { Stage } from '../../src/lab/stage/stage.ts';
import { someFolder } from '../support/basics.ts';

const faultMs = 30;

const done = (as: Done) => ({ place: { is: 'done', as }, asPlanned: true });
const missed = (because: Missed) => ({ place: { is: 'missed', because }, asPlanned: false });

/** Of a server whose data are put aside. */
function keptFolder(): string {
  const folder = join(someFolder(), 'data');
  mkdirSync(`${folder}.kept`);
  return folder;
}

const stageOf = (lab: object, inject: (fault: Fault) => Promise<Undo>): Stage =>
  ({
    ...{ lab, inject },
    until: (what: string, withinMs: number, condition: () => boolean) =>
      waitUntil(what, withinMs, condition),
  }) as unknown as Stage;

/**
 * The fault only takes its time: another process has the place of the server then, or the same one
 * when it had no effect. After it the lock answers late.
 */
function sceneWith(leaseMs: number, answersAfterMs = 0, hasEffect = true): Scene {
  let pid = process.pid;
  const target = {
    ...{ servers: ['zookeeper'], needed: 1, pid: 1, instance: 'api-1', key: 'lock' },
    ...{ leaseMs, answerMs: 1_000 },
  };
  return {
    player: { state: () => undefined },
    undos: new Map(),
    lockFaultTarget: () => target,
    lockAnswers: () => sleep(answersAfterMs),
    stage: stageOf({ pidOf: () => pid, dataFolder: keptFolder }, async () => {
      await sleep(faultMs);
      if (hasEffect) pid = 1;
      return async () => {};
    }),
  } as unknown as Scene;
}

const restart = fault('restart-all', 'restarts with its data', '');
const startEmpty = fault('start-empty', 'starts without its data', '');

test('a restart within the lease is as planned, if anything is seen of it', async () => {
  const step = await playStep(restart, sceneWith(60_000));
  expect(step).toMatchObject(done('injected'));
  const unseen = await playStep(restart, sceneWith(60_000, 0, false));
  expect(unseen).toMatchObject(missed('no-effect'));
});

describe('the end of a lease', () => {
  /** @param isWaitedFor else the step returns at once, long before the end of the lease. */
  const end = (locked: boolean[], isWaitedFor: boolean) =>
    playStep(expire('A', 'its lease expires', ''), {
      ...sceneWith(60_000),
      expireMs: isWaitedFor ? 20 : 60_000,
      isLocked: async () => locked.shift() ?? false,
      expire: () => sleep(isWaitedFor ? 25 : 0),
      stage: stageOf({}, async (fault) => fault.inject({} as unknown as Lab)),
    } as unknown as Scene);

  test.each<[string, boolean[], boolean, object]>([
    ['is seen when its key is gone', [true, false], false, done('lease-over')],
    ['is the time of a lease, without a key', [false, false], true, done('time-passes')],
    ['did not come when the key is renewed', [true, true], true, done('still-locked')],
    ['was not waited for', [true, true], false, missed('no-effect')],
  ])('%s', async (_, isLocked, isWaitedFor, is) => {
    expect(await end(isLocked, isWaitedFor)).toMatchObject(is);
  });
});

test('a restart outlasts the lease when the lock answers again after it', async () => {
  const step = await playStep(restart, sceneWith(3 * faultMs, 4 * faultMs));
  expect(step).toMatchObject(missed('outlasts-the-lease'));
});

test('a server that is meant to stay away for longer than the lease may do so', async () => {
  const step = await playStep(startEmpty, sceneWith(faultMs / 2));
  expect(step).toMatchObject(done('injected'));
});

describe('a worker that a fault keeps from the database', () => {
  const step = run('W', 'recorded', 'gives up', '', { unlessRecorded: true });
  const arrival = { checkpoint: 'recorded', instance: 'w-1' };

  test.each([
    ['is as planned when no order is recorded', false, { place: { is: 'at' }, asPlanned: true }],
    ['says that the fault missed when the order is recorded', true, missed('recorded-anyway')],
  ])('%s', async (_, isRecorded, is) => {
    const player = { to: async () => ({ kind: 'paused', arrival }) };
    const scene = { player, isRecorded: () => isRecorded } as unknown as Scene;
    expect(await playStep(step, scene)).toMatchObject(is);
  });
});

describe('a lane that runs to a place', () => {
  const reach = (reached: object) =>
    playStep(run('A', 'before-commit', '', '', { orUntil: ['before-release'] }), {
      ...{ player: { to: async () => reached }, waitsFor: 'lock' },
    } as unknown as Scene);
  const at = (checkpoint: string) => ({
    ...{ kind: 'paused', arrival: { checkpoint, instance: 'api-1' } },
  });

  test.each([
    ['is as planned there', at('before-commit'), { is: 'at' }, true],
    ['is not at the place that comes nearest', at('before-release'), { is: 'at' }, false],
    ['is not when it waits', { kind: 'waits' }, { is: 'waits', on: 'lock' }, false],
    ['is not when it is nowhere', { kind: 'slow' }, { is: 'missed', because: 'slow' }, false],
    [
      'is not when it is answered',
      { kind: 'answered', attempt: { outcome: 'refused', reason: 'busy' } },
      { is: 'answered', attempt: { reason: 'busy' } },
      false,
    ],
  ])('%s', async (_, reached, place, asPlanned) => {
    expect(await reach(reached)).toMatchObject({ place, asPlanned });
  });
});

describe('a fault in the process of a lane that was answered before', () => {
  const answered = { kind: 'answered', attempt: { instance: 'api-1' } };
  const scene = {
    ...sceneWith(60_000),
    stage: stageOf({ pidOf: () => 1 }, async () => async () => {}),
    player: { state: () => answered, settles: async () => true },
    lockFaultTarget: () => ({ servers: [], needed: 1, pid: 0, instance: '', leaseMs: 60_000 }),
  } as unknown as Scene;

  test.each([
    kill('A', 'dies', ''),
    sigstop('A', 'stands still', ''),
    fault('cut-off', 'is cut off', '', 'A'),
  ] as const)('misses: %j', async (step) => {
    expect(await playStep(step, scene)).toMatchObject(missed('not-there'));
  });

  test('hits where the schedule means the process, and not the request', async () => {
    const step = kill('A', 'dies', '', { answered: true });
    const { pid = 0 } = spawn('sleep', ['60']);
    const inject = async () => {
      process.kill(pid, 'SIGKILL');
      return async () => {};
    };
    const living = { ...scene, stage: stageOf({ pidOf: () => pid }, inject) };
    expect(await playStep(step, living)).toMatchObject({ place: { is: 'dead' }, asPlanned: true });
  });
});
