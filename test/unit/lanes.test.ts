/** When lanes are still: who waits for whom, by the history, by InnoDB, and by time. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Lanes, type LanesSetUp } from '../../src/lab/play/lanes.ts';
import type { LaneState } from '../../src/lab/stage/player.ts';
import { rungNamed } from '../../src/service/ladder/rungs.ts';
import type { CheckpointName } from '../../src/service/trace/checkpoints.ts';
import { someFolder } from '../support/basics.ts';

const at = (checkpoint: CheckpointName): LaneState => ({
  ...{ kind: 'paused', arrival: { lane: 'A', checkpoint, instance: 'api-1', pid: 1, at: '1' } },
});
const resumed: string[] = [];

/** @param lines `A granted`: what a lane did with the only lock */
function lanesWith(b: LaneState, lines: readonly string[], more: Partial<LanesSetUp>): Lanes {
  const historyFolder = someFolder();
  const states: Record<string, LaneState> = { A: at('after-check'), B: b };
  const player = {
    look: async () => false,
    state: (lane: string) => states[lane],
    requestId: (lane: string) => `r-${lane}`,
    resume: async (lane: string) => {
      resumed.push(lane);
      states[lane] = at('before-commit');
    },
  };
  const lanes = new Lanes({
    ...{ stage: { lab: { historyFolder }, rest: sleep }, player, names: ['A', 'B'] },
    ...{ faults: { isDead: () => false, isPaused: () => false }, rung: rungNamed('redis-atomic') },
    ...{ rowWaits: async () => 0, ownerlessMs: 150, isStop: () => true, ...more },
  } as unknown as LanesSetUp);
  const events = lines.map((line, index) => {
    const [lane, event] = line.split(' ');
    const resource = event === 'waiting' ? {} : { resource: 'user 7' };
    const told = { at: String(index), instance: `api-${lane}`, event, requestId: `r-${lane}` };
    return `${JSON.stringify({ ...told, ...resource })}\n`;
  });
  writeFileSync(join(historyFolder, 'api-1.jsonl'), events.join(''));
  return lanes;
}

const refused = ['A received', 'A granted', 'B received', 'B requested', 'B waiting'];
const twice = (looks: number[]) => async () => looks.shift() ?? 0;
const forLock = { is: 'waits', on: 'lock', for: 'A', isForDead: false };
const forRow = { is: 'waits', on: 'row', for: 'A' };

describe('a lane that runs', () => {
  test.each<[string, readonly string[], Partial<LanesSetUp>, object | undefined, number]>([
    [
      'waits for the owner of its lock as soon as the history says so',
      ...([refused, { ownerlessMs: 60_000 }, forLock, 0] as const),
    ],
    [
      'waits for a lock without an owner once nothing has moved for a time',
      ...([refused.slice(3), {}, { is: 'waits', on: 'lock' }, 150] as const),
    ],
    ['waits for a row when InnoDB says so twice', [], { rowWaits: twice([1, 1]) }, forRow, 130],
    ['moves when InnoDB says it once only', [], { rowWaits: twice([1]) }, undefined, 0],
    ['moves when InnoDB never says it', [], {}, undefined, 0],
    [
      'waits after a time inside a load, which waits too',
      [],
      { rowWaits: undefined },
      forRow,
      1_200,
    ],
  ])('%s', async (_, lines, more, place, minMs) => {
    const lanes = lanesWith({ kind: 'running' }, lines, more);
    const startedAt = performance.now();
    expect(await lanes.settled('B', true, place ? 10_000 : 400)).toEqual(place);
    const afterMs = performance.now() - startedAt;
    expect(afterMs).toBeGreaterThan(minMs);
  });

  test('is not there when it waits and must be answered; its instance is known', async () => {
    const lanes = lanesWith({ kind: 'running' }, refused, {});
    expect(await lanes.settled('B', false, 300)).toBeUndefined();
    expect([lanes.instanceOf('A'), lanes.instanceOf('B')]).toEqual(['api-A', 'api-B']);
  });
});

test('a lane goes on from a checkpoint that is no stop, and is there at one that is', async () => {
  const isStop = (lane: string, checkpoint: string) =>
    lane !== 'B' || checkpoint === 'before-commit';
  const lanes = lanesWith(at('after-acquire'), [], { isStop });
  const there = await lanes.settled('B', false, 400);
  expect(there).toMatchObject({ is: 'at', checkpoint: 'before-commit' });
  expect(resumed).toEqual(['B']);
});
