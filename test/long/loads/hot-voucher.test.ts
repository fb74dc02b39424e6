/** Instances die while buckets lend their last units: none is lost, doubled, stranded or denied. */
import { expect, test } from 'vitest';
import { hotShape, hotVoucher } from '../../../src/lab/drills/hot-voucher.ts';
import { expectHeld, playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab(hotShape);

test('a voucher in buckets sells exactly its stock, although transfers are cut in half', async () => {
  const result = await playIn(lab(), hotVoucher, { seed: 7, minutes: 0 });
  expectHeld(result);
  expect(result.figures).toMatchObject({
    ...{ sold: 480, recorded: 480, accepted: 480, lost: 0, usersWithTwoOrders: 0 },
    ...{ oversold: 0, stranded: 0, soldOutWrongly: 0, transfersCut: 2 },
  });
  expect(result.figures['transfers']).toBeGreaterThanOrEqual(4);
}, 360_000);
