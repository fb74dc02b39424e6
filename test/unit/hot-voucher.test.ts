/** The figures of the drill hot-voucher, each from a sale with one thing wrong. */
import { describe, expect, test } from 'vitest';
import { bucketFigures, type HotSale } from '../../src/lab/drills/hot-voucher-figures.ts';
import type { Try } from '../../src/lab/workload/steady-purchases.ts';
import { facts } from './facts.ts';

const answer = (outcome: Try['outcome'], reason: string, sentAt: number): Try => ({
  ...{ voucherId: '1', userId: String(sentAt), requestId: String(sentAt), outcome, reason },
  ...{ sentAt: String(sentAt), answeredAt: String(sentAt + 5), latencyMs: 0 },
});
const sold = (sentAt: number) => answer('accepted', '', sentAt);
const soldOut = (sentAt: number) => answer('refused', 'sold-out', sentAt);

const sale = (changes: Partial<HotSale> = {}): HotSale => ({
  ...{
    purchases: [],
    facts: facts({ initialStock: 8, stock: 0 }),
    demands: [4, 4],
    isCut: true,
    kills: 4,
  },
  tries: [sold(1), sold(2), soldOut(20), soldOut(21)],
  end: { stock: 0, inTransit: 0, open: [], transfers: 2 },
  ...changes,
});

describe('the figures of a sale in buckets', () => {
  test('count the transfers of all sales, and what is wrong with none', () => {
    expect(bucketFigures([sale(), sale({ isCut: false })])).toEqual({
      ...{ oversold: 0, stranded: 0, soldOutWrongly: 0, askedToRetry: 0 },
      ...{ transfers: 4, transfersCut: 1, strandedWithoutLending: 0 },
    });
  });

  test('count units as stranded only as far as users were turned away', () => {
    const end = { stock: 3, inTransit: 3, open: ['0>1:1:3'], transfers: 2 };
    expect(bucketFigures([sale({ end })]).stranded).toBe(2);
    expect(bucketFigures([sale({ end, tries: [sold(1)] })]).stranded).toBe(0);
  });

  test('count units as stranded that Redis has lost, and MySQL never sold', () => {
    const lost = facts({ initialStock: 8, stock: 3 });
    expect(bucketFigures([sale({ facts: lost })]).stranded).toBe(2);
  });

  test('count "sold out" as wrong when a later purchase was sold, and not when an earlier one was', () => {
    const tries = [soldOut(1), sold(3), soldOut(4), sold(30), soldOut(40)];
    expect(bucketFigures([sale({ tries })]).soldOutWrongly).toBe(2);
  });

  test('count who was asked to try again', () => {
    const tries = [answer('refused', 'not-ready', 1), sold(9)];
    expect(bucketFigures([sale({ tries })]).askedToRetry).toBe(1);
  });

  test('tell what the same users would have left behind without lending', () => {
    expect(bucketFigures([sale({ demands: [1, 9] })]).strandedWithoutLending).toBe(3);
  });
});
