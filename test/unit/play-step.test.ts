/** A fault of a race that takes longer than the lease: then the race proves nothing about it. */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Lab } from '../../src/lab/environment/lab.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Fault, Undo } from '../../src/lab/faults/fault.ts';
import { PlayFaults } from '../../src/lab/play/play-faults.ts';
import { leaseEnds } from '../../src/lab/play/play-race.ts';
import { playStep, type Scene } from '../../src/lab/play/play-step.ts';
import { expire, fault, kill, run, sigstop } from '../../src/lab/play/schedule.ts';
import { ServerFaults } from '../../src/lab/play/server-faults.ts';
import type { Miss, Place, ReachedPlace, StepEffect } from '../../src/lab/stage/place.ts';
import type { Stage } from '../../src/lab/stage/stage.ts';
import { rungNamed } from '../../src/service/ladder/rungs.ts';
import { someFolder } from '../support/basics.ts';
import { standsAt, told } from './facts.ts';

const faultMs = 30;
const rung = rungNamed('redis-atomic');
const ofServers = rungNamed('zookeeper');
const lock = { voucherId: '1', userId: '7' };

const done = (as: StepEffect) => ({ place: { is: 'done', as }, asPlanned: true });
const missed = (because: Miss) => ({ place: { is: 'missed', because }, asPlanned: false });

/** Of a server whose data are put aside. */
function keptFolder(): string {
  const folder = join(someFolder(), 'data');
  mkdirSync(`${folder}.kept`);
  return folder;
}

const stageOf = (lab: object, inject: (fault: Fault) => Promise<Undo>): Stage =>
  ({
    ...{ lab, inject, connections: { config: { LOCK_ANSWER_MS: 1_000 } } },
    until: (what: string, withinMs: number, condition: () => boolean) =>
      waitUntil(what, withinMs, condition),
  }) as unknown as Stage;

/**
 * The fault only takes its time: another process has the place of the server then, or the same one
 * when it had no effect. After it the lock answers late.
 */
function sceneWith(leaseMs: number, answersAfterMs = 0, hasEffect = true): Scene {
  let pid = process.pid;
  const stage = stageOf({ pidOf: () => pid, dataFolder: keptFolder }, async () => {
    await sleep(faultMs);
    if (hasEffect) pid = 1;
    return async () => {};
  });
  const faults = new PlayFaults(stage, rung);
  const lockAnswers = () => sleep(answersAfterMs);
  return {
    ...{ stage, faults, player: { state: () => undefined } },
    servers: new ServerFaults({ stage, faults, rung: ofServers, ...lock, leaseMs, lockAnswers }),
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
  /**
   * @param leftMs what Redis says: -1 without an expiry, -2 without a key
   * @param lives how many looks find the key
   */
  const redisWith = (leftMs: number, lives: number) => {
    const ended: string[] = [];
    const redis = {
      pttl: async () => leftMs,
      exists: async () => Number(ended.length === 0 && lives-- > 0),
      pexpire: async (key: string) => ended.push(key),
    };
    return { redis, ended };
  };
  type Case = [leftMs: number, lives: number, isSure?: boolean, hasService?: boolean];
  const end = async (
    withinMs: number,
    ...[leftMs, lives, isSure = false, hasService = true]: Case
  ) => {
    const { redis, ended } = redisWith(leftMs, lives);
    const stage = {
      ...stageOf({}, async () => async () => {}),
      connections: { redis: () => redis },
    };
    const of = { lockService: { servers: ['redis-main'], needed: 1 } };
    const lease = { key: 'lock', isSure, withinMs };
    const came = await leaseEnds(stage as unknown as Stage, hasService ? of : {}, lease);
    return [came, ended.length];
  };

  test.each<[string, Case, string, number]>([
    ['is seen when its key is gone', [900, 1], 'lease-over', 0],
    ['is the time of a lease, without a key', [-2, 0], 'time-passes', 0],
    ['did not come when the key is renewed', [900, 1e9], 'still-locked', 0],
    ['never comes without an expiry', [-1, 1e9, true], 'no-lease', 0],
    ['never comes without a server that has the lock', [900, 1e9, true, false], 'no-lease', 0],
    ['comes at once when its owner is dead', [900, 1e9, true], 'lease-over', 1],
    ['is waited for when Redis has more than a lease', [9_999, 1e9, true], 'still-locked', 0],
  ])('%s', async (_, given, came, ended) => {
    const withinMs = came === 'lease-over' ? 10_000 : 40; // It comes, however busy the machine is.
    expect(await end(withinMs, ...given)).toEqual([came, ended]);
  });

  const step = (come: () => Promise<StepEffect>, inject: (fault: Fault) => Promise<Undo>) =>
    playStep(expire('A', 'its lease expires', ''), {
      ...{ expire: come, stage: stageOf({}, inject) },
    } as unknown as Scene);

  test('is a fault, which a step waits for', async () => {
    const inject = (fault: Fault) => fault.inject({} as unknown as Lab);
    expect(await step(async () => 'lease-over', inject)).toMatchObject(done('lease-over'));
    const without = { ...done('no-lease'), asPlanned: false };
    expect(await step(async () => 'no-lease', inject)).toMatchObject(without);
    const never = await step(
      async () => 'lease-over',
      async () => async () => {},
    );
    expect(never).toMatchObject(missed('no-effect'));
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

/** A lane comes to this place. */
const runsTo = (place: Place | undefined, more: object = {}) =>
  ({
    player: { state: () => undefined, resume: async () => {} },
    ...{ lanes: { settled: async () => place }, running: {}, told: new Map(), ...more },
  }) as unknown as Scene;

describe('a worker that a fault keeps from the database', () => {
  const step = run('W', 'recorded', 'gives up', '', { unlessRecorded: true });

  test.each([
    ['is as planned when no order is recorded', false, { place: { is: 'at' }, asPlanned: true }],
    ['says that the fault missed when the order is recorded', true, missed('recorded-anyway')],
  ])('%s', async (_, isRecorded, is) => {
    const scene = runsTo(standsAt('recorded'), { isRecorded: () => isRecorded });
    expect(await playStep(step, scene)).toMatchObject(is);
  });
});

describe('a lane that runs to a place', () => {
  const step = run('A', 'before-commit', '', '', { orUntil: ['before-release'] });

  test.each<[string, Place | undefined, ReachedPlace, boolean]>([
    ['is as planned there', standsAt('before-commit'), standsAt('before-commit'), true],
    [
      'is not at the place that comes nearest',
      ...([standsAt('before-release'), standsAt('before-release'), false] as const),
    ],
    ['is not when it waits', { is: 'waits', on: 'lock' }, { is: 'waits', on: 'lock' }, false],
    ['is not when it is nowhere', undefined, { is: 'missed', because: 'slow' }, false],
    ['is not when it is answered', told('busy'), told('busy'), false],
  ])('%s', async (_, reached, place, asPlanned) => {
    expect(await playStep(step, runsTo(reached))).toMatchObject({ place, asPlanned });
  });

  test('is resumed from where a step has left it, not from where it came by itself', async () => {
    const resumes: string[] = [];
    const state = { kind: 'paused', arrival: {} };
    const player = { state: () => state, resume: async (lane: string) => resumes.push(lane) };
    const scene = runsTo(standsAt('before-commit'), { player });
    await playStep(step, scene);
    expect(resumes).toEqual([]);
    await playStep(step, scene);
    expect(resumes).toEqual(['A']);
  });
});

describe('a fault in the process of a lane that was answered before', () => {
  const answered = { kind: 'answered', attempt: { instance: 'api-1' } };
  const scene = {
    ...sceneWith(60_000),
    stage: stageOf({ pidOf: () => 1 }, async () => async () => {}),
    player: { state: () => answered, settles: async () => true },
    lanes: { instanceOf: () => 'api-1', locks: { died: () => {} } },
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
    const stage = stageOf({ pidOf: () => pid }, inject);
    const living = { ...scene, stage, faults: new PlayFaults(stage, rung) };
    expect(await playStep(step, living)).toMatchObject({ place: { is: 'dead' }, asPlanned: true });
  });
});
