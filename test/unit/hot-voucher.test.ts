/** The figures of the drill hot-voucher, each from a sale with one thing wrong. */
import { describe, expect, test } from 'vitest';
import type { Attempt } from '../../src/audit/facts.ts';
import {
  bucketFigures,
  type HotSale,
  judgeHotVoucher,
} from '../../src/lab/drills/hot-voucher-figures.ts';
import type { Try } from '../../src/lab/workload/steady-purchases.ts';
import { accepted, facts, refused, timed, unknown } from './facts.ts';

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

const noTransfers = { inTransit: 0, open: [], transfers: 0 };

describe('the verdict of the drill', () => {
  const attempts = [
    timed(accepted('1', 'a'), 1, 2),
    timed(accepted('2', 'b'), 3, 4),
    timed(refused('3', 'sold-out'), 20, 21),
  ];
  const inTurn = (all: readonly Attempt[]): Try[] =>
    all.map((each) => ({ ...each, voucherId: '9', sentAt: '', answeredAt: '', ...each }));
  const recorded = { initialStock: 2, stock: 0, history: [], locked: false } as const;

  /** Two units, both sold; the third user is told "sold out". */
  const soldThrough = (changes: Partial<HotSale> = {}): HotSale =>
    sale({
      purchases: attempts.map(({ userId, requestId }) => ({ voucherId: '9', userId, requestId })),
      tries: inTurn(attempts),
      facts: facts({ ...recorded, redis: { stock: 0 }, attempts }),
      ...changes,
    });

  test('is held when every unit was sold, once, and a transfer was cut', () => {
    expect(judgeHotVoucher([soldThrough()])).toMatchObject({
      ...{ verdict: 'held', reasons: [], faults: { 'kill instance': 4 }, facts: [] },
    });
  });

  const late = timed(accepted('4', 'd'), 30, 31);
  const unanswered = timed(unknown('3'), 20, 21);
  test.each<[string, string, Partial<HotSale>]>([
    ['violated', '1 units were stranded', { end: { stock: 1, ...noTransfers } }],
    ['violated', '1 users were told "sold out" while', { tries: inTurn([...attempts, late]) }],
    ['violated', '1 units were sold that did not', { facts: facts({ ...recorded, stock: -1 }) }],
    ['violated', '1 purchases never got', { tries: inTurn([...attempts.slice(0, 2), unanswered]) }],
    ['unknown', '1 purchases were not sent in time', { tries: inTurn(attempts.slice(0, 2)) }],
    ['unknown', 'in 1 sales no transfer was cut', { isCut: false }],
  ])('is %s: %s', (verdict, reason, changes) => {
    const result = judgeHotVoucher([soldThrough(changes)]);
    expect(result.verdict).toBe(verdict);
    expect(result.reasons.join('\n')).toContain(reason);
  });

  test('is unknown when a voucher did not sell out', () => {
    const two = attempts.slice(0, 2);
    const unsold = soldThrough({
      purchases: two.map(({ userId, requestId }) => ({ voucherId: '9', userId, requestId })),
      ...{ tries: inTurn(two), facts: facts({ ...recorded, redis: { stock: 0 }, attempts: two }) },
    });
    const { verdict, reasons } = judgeHotVoucher([unsold]);
    expect([verdict, reasons]).toEqual(['unknown', ['1 vouchers did not sell out']]);
  });
});
