/** Two workers on four shards: one is killed with orders in hand, and the other records them. */
import { expect, test } from 'vitest';
import type { Drill } from '../../../src/lab/drills/drill.ts';
import { scaleOut, workersScaleOut } from '../../../src/lab/drills/workers-scale-out.ts';
import { expectHeld, playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab(null);

test('the orders that a killed worker had in hand are recorded once, by the other one', async () => {
  const two: Drill = { ...workersScaleOut, play: (stage, own) => scaleOut(stage, [2], own) };
  const result = await playIn(lab(), two, { seed: 3, minutes: 0.05 });
  expectHeld(result);
  const { accepted, recorded, lost } = result.figures;
  expect({ recorded, lost }).toEqual({ recorded: accepted, lost: 0 });
  expect(result.figures['2 workers, in hand at the kill']).toBeGreaterThanOrEqual(4);
  expect(result.faults).toEqual({ 'lock the stock in MySQL': 2, 'kill api-worker-2': 1 });
}, 360_000);
