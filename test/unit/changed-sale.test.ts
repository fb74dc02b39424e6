/** The figures of the drill changed-sale, each from a sale with one thing wrong. */
import { describe, expect, test } from 'vitest';
import { type ChangedSale, judgeChangedSale } from '../../src/lab/drills/changed-sale-figures.ts';
import type { Try } from '../../src/lab/workload/steady-purchases.ts';
import { accepted, facts, refused, timed } from './facts.ts';

const inSale = (attempt: ReturnType<typeof timed>): Try => ({ voucherId: '9', ...attempt });
const ms = (count: number) => BigInt(count) * 1_000_000n;
const tries = [
  inSale(timed(accepted('1', 'a'), 1, 2)),
  inSale(timed(refused('2', 'sale-paused'), 15, 16)),
  inSale(timed(accepted('2', 'b'), 25, 26)),
  inSale(timed(refused('3', 'sold-out'), 30, 31)),
];

/** Two of two are sold; the pause is from 10 ms to 20 ms. */
const sale = (changes: Partial<ChangedSale> = {}): ChangedSale => ({
  purchases: ['1', '2', '3'].map((userId) => ({ voucherId: '9', userId, requestId: `r${userId}` })),
  tries,
  facts: facts({ initialStock: 2, stock: 0, attempts: tries, redis: { stock: 0 } }),
  changes: [{ state: 'done', stock: 2 }],
  pauses: [{ from: ms(10), to: ms(20) }],
  wantedStock: 2,
  isRefusedBelowSold: true,
  cuts: 2,
  kills: 3,
  ...changes,
});
const judged = (changes: Partial<ChangedSale> = {}) => judgeChangedSale([sale(changes)]);

test('a sale that was paused, changed and sold out has held', () => {
  expect(judged()).toMatchObject({ verdict: 'held', reasons: [] });
  expect(judged().figures).toMatchObject({ soldWhilePaused: 0, askedToWait: 1, changesDone: 1 });
});

describe('violated is a sale', () => {
  test('in which a purchase was sent and sold while it was paused', () => {
    const sold = inSale(timed(accepted('2', 'b'), 12, 14));
    const { verdict, reasons } = judged({ tries: tries.with(2, sold) });
    expect(verdict).toBe('violated');
    expect(reasons).toContain('voucher 9: 1 purchases were sold while the sale was paused');
  });

  test('but not because a request that was sent before the pause was sold in it', () => {
    const early = inSale(timed(accepted('1', 'a'), 9, 14));
    expect(judged({ tries: tries.with(0, early) }).reasons).toEqual([]);
  });

  test.each<[string, Partial<ChangedSale>]>([
    ['1 changes were never finished', { changes: [{ state: 'begun', stock: 2 }] }],
    ['the stock is 2, and the operator set 5', { wantedStock: 5 }],
    ['a stock below what is sold was not refused', { isRefusedBelowSold: false }],
  ])('of which one must say: %s', (text, changes) => {
    expect(judged(changes)).toMatchObject({
      ...{ verdict: 'violated', reasons: [`voucher 9: ${text}`] },
    });
  });
});

test.each<[string, Partial<ChangedSale>]>([
  ['1 of 2 changes were cut', { cuts: 1 }],
  ['nothing was killed beside the changes', { kills: 0 }],
  ['nobody asked while it was paused', { tries: tries.filter((_, at) => at !== 1) }],
])('unknown is a sale of which one must say: %s', (text, changes) => {
  expect(judged(changes)).toMatchObject({ verdict: 'unknown', reasons: [`voucher 9: ${text}`] });
});
