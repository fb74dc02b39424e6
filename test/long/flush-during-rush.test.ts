/** Redis loses every key in a rush: nothing is sold twice, and the loss is counted. */
import { expect, test } from 'vitest';
import { flushDuringRush, flushShape } from '../../src/lab/drills/flush-during-rush.ts';
import { expectHeld, playIn } from '../support/judged-drill.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(flushShape);

test('after FLUSHALL and a rebuild exactly the stock is sold, and only what Redis alone knew is lost', async () => {
  const result = await playIn(lab(), flushDuringRush, { seed: 5, minutes: 0.1 });
  expectHeld(result);
  const { accepted, recorded, lostAccepted, oversold, usersWithTwoOrders } = result.figures;
  expect({ recorded, oversold, usersWithTwoOrders }).toEqual({
    recorded: 2_000,
    oversold: 0,
    usersWithTwoOrders: 0,
  });
  // The workers were away, so that none of these was recorded: also without a history.
  expect(lostAccepted).toBeGreaterThanOrEqual(60);
  expect((accepted ?? 0) - (lostAccepted ?? 0)).toBeLessThanOrEqual(2_000);
  expect(result.asClaimed).toHaveLength(1);
}, 180_000);
