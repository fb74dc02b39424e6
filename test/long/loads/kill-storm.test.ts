/** Half a minute of kills and pauses of every part: nothing is lost and nothing is sold twice. */
import { expect, test } from 'vitest';
import { killStorm, stormShape } from '../../../src/lab/drills/kill-storm.ts';
import type { Second } from '../../../src/lab/stage/seconds.ts';
import { playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab(stormShape);

const answersIn = ({ accepted, refusedBecause, unknown }: Second): number =>
  Object.values(refusedBecause).reduce((sum, count) => sum + count, accepted + unknown);

test('lua-stream sells every unit once and records it, through kills and pauses', async () => {
  const { facts: _, ...result } = await playIn(lab(), killStorm, { seed: 11, minutes: 0.5 });
  const { seconds, marks } = result.recorded;
  expect(result, JSON.stringify(marks)).toMatchObject({ verdict: 'held', reasons: [] });
  const { sold, recorded, accepted, lost, usersWithTwoOrders, unresolved } = result.figures;
  expect([recorded, accepted]).toEqual([sold, sold]);
  expect({ lost, usersWithTwoOrders, unresolved }).toEqual({
    lost: 0,
    usersWithTwoOrders: 0,
    unresolved: 0,
  });
  expect(sold).toBeGreaterThan(1_000);
  const answers = seconds.reduce((sum, second) => sum + answersIn(second), 0);
  expect(answers).toBe(result.figures['requests']);
  const injected = Object.values(result.faults).reduce((sum, times) => sum + times, 0);
  expect(marks.filter(({ of, isStart }) => of === 'fault' && isStart)).toHaveLength(injected);
}, 360_000);
