/** Each incident once: nothing is lost, and orders are recorded again. */
import { expect, test } from 'vitest';
import { aliveNotConsuming } from '../../src/lab/drills/alive-not-consuming.ts';
import { expectHeld, playIn } from '../support/judged-drill.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(null);

test('after each incident orders are recorded again, and no accepted order is lost', async () => {
  const options = { seed: 3, minutes: 0.5 };
  const result = await playIn(lab(), aliveNotConsuming, options, 200_000);
  expectHeld(result);
  expect(result.tables?.[0]?.rows).toHaveLength(7);
  expect(result.figures).toMatchObject({ processesReplaced: 1 });
}, 240_000);
