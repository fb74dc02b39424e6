/** One of three masters hangs while fifty requests wait for one lock. */
import { expect, test } from 'vitest';
import { hungMaster } from '../../../src/lab/drills/hung-master.ts';
import { expectHeld, playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab();

test('redlock sells on, multilock refuses in time, and both sell again afterwards', async () => {
  const result = await playIn(lab(), hungMaster, { seed: 2, minutes: 0.1 });
  expectHeld(result);
  expect(result.faults).toEqual({ 'pause redis-3': 2 });
}, 320_000);
