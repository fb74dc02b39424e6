/** Half a minute of kills and pauses of every part: nothing is lost and nothing is sold twice. */
import { expect, test } from 'vitest';
import { killStorm, stormShape } from '../../src/lab/drills/kill-storm.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(stormShape);

test('lua-stream sells every unit once and records it, through kills and pauses', async () => {
  const faults: string[] = [];
  const options = { seed: 11, minutes: 0.5, progress: (event: string) => void faults.push(event) };
  const signal = AbortSignal.timeout(150_000);
  const { facts: _, ...result } = await killStorm.run(lab(), { ...options, signal });
  expect(result, faults.join('\n')).toMatchObject({ verdict: 'held', reasons: [] });
  const { sold, recorded, accepted, lost, usersWithTwoOrders, unresolved } = result.figures;
  expect([recorded, accepted]).toEqual([sold, sold]);
  expect({ lost, usersWithTwoOrders, unresolved }).toEqual({
    lost: 0,
    usersWithTwoOrders: 0,
    unresolved: 0,
  });
  expect(sold).toBeGreaterThan(1_000);
}, 180_000);
