/** An operator pauses and changes a sale while its processes die: nothing is lost or doubled. */
import { expect, test } from 'vitest';
import { changedSale, changedShape } from '../../src/lab/drills/changed-sale.ts';
import { expectHeld, playIn } from '../support/judged-drill.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(changedShape);

test('a sale whose changes are cut in half sells exactly the stock that was set last', async () => {
  const result = await playIn(lab(), changedSale, { seed: 7, minutes: 0 });
  expectHeld(result);
  expect(result.figures).toMatchObject({
    ...{ lost: 0, usersWithTwoOrders: 0, unresolved: 0, soldWhilePaused: 0 },
    ...{ changesRefused: 2, changesUnfinished: 0, changesCut: 4 },
  });
  const { sold, recorded, accepted } = result.figures;
  expect([sold, accepted]).toEqual([recorded, recorded]);
}, 180_000);
