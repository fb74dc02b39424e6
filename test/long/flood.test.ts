/** A flood from one address, within the limits of a deployment: everybody else buys. */
import { expect, test } from 'vitest';
import { floodDrill, floodShape } from '../../src/lab/drills/flood.ts';
import { expectHeld, playIn } from '../support/judged-drill.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(floodShape);

test('all purchases beside a flood are sold and recorded once, and no buyer is limited', async () => {
  const result = await playIn(lab(), floodDrill, { seed: 7, minutes: 0 });
  expectHeld(result);
  expect(result.figures).toMatchObject({
    ...{ sold: 600, recorded: 600, accepted: 600, requests: 600, lost: 0, usersWithTwoOrders: 0 },
    ...{ unexpected: 0, floodFailed: 0 },
  });
  expect(result.figures['floodRefused']).toBeGreaterThan(1_000);
}, 120_000);
