/** Each incident once: nothing is lost, and orders are recorded again. */
import { expect, test } from 'vitest';
import { aliveNotConsuming } from '../../src/lab/drills/alive-not-consuming.ts';
import { Timeline } from '../../src/lab/drills/timeline.ts';
import { expectHeld } from '../support/judged-drill.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(null);

test('after each incident orders are recorded again, and no accepted order is lost', async () => {
  const recorder = new Timeline();
  const options = { seed: 3, minutes: 0.5, progress: () => {}, recorder };
  const signal = AbortSignal.timeout(200_000);
  const result = await aliveNotConsuming.run(lab(), { ...options, signal });
  expectHeld(result);
  expect(result.phases).toHaveLength(7);
  expect(result.figures).toMatchObject({ processesReplaced: 1 });
}, 240_000);
