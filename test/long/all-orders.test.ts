/** Every order of two buyers on every rung of chapters 1 to 4, with the locks of every server. */
import { expect, test } from 'vitest';
import { allOrdersExperiment } from '../../src/lab/play/all-orders.ts';
import { rungsWithOrders } from '../../src/lab/play/set-up.ts';
import { playIn } from '../support/judged-drill.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab(null);

test('a rung breaks under some order when the ladder says so, and under none otherwise', async () => {
  const result = await playIn(lab(), allOrdersExperiment(), { rungs: rungsWithOrders }, 360_000);
  expect(result).toMatchObject({ verdict: 'held', reasons: [] });
  expect(result.figures).toMatchObject({ rungs: rungsWithOrders.length });
}, 360_000);
