/** When lanes are still: who waits for whom, by the history, by InnoDB, and by time. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Lanes, type LanesSetUp } from '../../src/lab/play/lanes.ts';
import type { LaneState } from '../../src/lab/stage/player.ts';
import { rungNamed } from '../../src/service/ladder/rungs.ts';
import type { CheckpointName } from '../../src/service/trace/checkpoints.ts';
import { someFolder } from '../support/basics.ts';

const running: LaneState = { kind: 'running' };
const at = (checkpoint: CheckpointName): LaneState => ({
  kind: 'paused',
  arrival: { lane: 'A', checkpoint, instance: 'api-1', pid: 1, at: '1' },
});

interface Given {
  readonly states: Record<string, LaneState>;
  /** `A granted`, of the only lock. */
  readonly history?: readonly string[];
  readonly more?: Partial<LanesSetUp>;
}

function lanesWith({ states, history = [], more = {} }: Given) {
  const historyFolder = someFolder();
  const resumed: string[] = [];
  const player = {
    look: async () => false,
    state: (lane: string) => states[lane],
    requestId: (lane: string) => `r-${lane}`,
    resume: async (lane: string) => {
      resumed.push(lane);
      states[lane] = at('before-commit');
    },
  };
  const faults = { isDead: () => false, isPaused: () => false };
  const stage = { lab: { historyFolder }, rest: (ms: number) => sleep(ms) };
  const lanes = new Lanes({
    ...{ stage, player, faults, rung: rungNamed('redis-atomic'), names: ['A', 'B'] },
    ...{ rowWaits: async () => 0, ownerlessMs: 150, isStop: () => true, ...more },
  } as unknown as LanesSetUp);
  for (const [index, line] of history.entries()) {
    const [lane, event] = line.split(' ');
    const resource = event === 'waiting' ? {} : { resource: 'user 7' };
    const told = { at: String(index), instance: `api-${lane}`, event, requestId: `r-${lane}` };
    const text = JSON.stringify({ ...told, ...resource });
    appendFileSync(join(historyFolder, 'api-1.jsonl'), `${text}\n`);
  }
  return { lanes, resumed };
}

/** @returns where B is, and after how long; or undefined */
async function settles({ lanes }: ReturnType<typeof lanesWith>, mayWait = true, withinMs = 400) {
  const startedAt = performance.now();
  const place = await lanes.settled('B', mayWait, withinMs);
  return { place, afterMs: performance.now() - startedAt };
}

const refused = ['A received', 'A granted', 'B received', 'B requested', 'B waiting'];
const owned = { states: { A: at('after-check'), B: running }, history: refused };

describe('a lane that was refused its lock', () => {
  test('waits for its owner as soon as the history says so', async () => {
    const { place, afterMs } = await settles(lanesWith(owned));
    expect(place).toEqual({ is: 'waits', on: 'lock', for: 'A', isForDead: false });
    expect(afterMs).toBeLessThan(100);
  });

  test('is not there where it must be answered', async () => {
    expect((await settles(lanesWith(owned), false)).place).toBeUndefined();
  });

  test('waits for a lock without an owner once nothing has moved for a time', async () => {
    const history = ['B requested', 'B waiting'];
    const { place, afterMs } = await settles(lanesWith({ ...owned, history }));
    expect(place).toEqual({ is: 'waits', on: 'lock' });
    expect(afterMs).toBeGreaterThan(150);
  });

  test('waits in the instance that received it', async () => {
    const { lanes } = lanesWith(owned);
    await lanes.look();
    expect([lanes.instanceOf('A'), lanes.instanceOf('B')]).toEqual(['api-A', 'api-B']);
  });
});

describe('a lane that has not asked for a lock', () => {
  const states = { A: at('before-commit'), B: running };
  const byRow = { is: 'waits', on: 'row', for: 'A' };

  test('waits for a row when InnoDB says so twice', async () => {
    const looks = [1, 1];
    const rowWaits = async () => looks.shift() ?? 0;
    const { place, afterMs } = await settles(lanesWith({ states, more: { rowWaits } }));
    expect(place).toEqual(byRow);
    expect(afterMs).toBeGreaterThan(130);
  });

  test.each([
    ['says so once only', [1]],
    ['never says so', []],
  ])('does not when InnoDB %s', async (_, looks: number[]) => {
    const rowWaits = async () => looks.shift() ?? 0;
    expect((await settles(lanesWith({ states, more: { rowWaits } }))).place).toBeUndefined();
  });

  test('is said to wait after a time inside a load, whose purchases wait too', async () => {
    const inLoad = lanesWith({ states, more: { rowWaits: undefined } });
    const { place, afterMs } = await settles(inLoad, true, 3_000);
    expect(place).toEqual(byRow);
    expect(afterMs).toBeGreaterThan(1_200);
  });
});

test('a lane goes on from a checkpoint that is no stop, and is there at one that is', async () => {
  const isStop = (lane: string, checkpoint: string) =>
    lane !== 'B' || checkpoint === 'before-commit';
  const states = { A: at('after-acquire'), B: at('after-acquire') };
  const { lanes, resumed } = lanesWith({ states, more: { isStop } });
  const there = await lanes.settled('B', false, 400);
  expect(there).toMatchObject({ is: 'at', checkpoint: 'before-commit' });
  expect(resumed).toEqual(['B']);
});
