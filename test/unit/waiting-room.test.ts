/** The figures of the drill waiting-room, each from a sale with one thing wrong. */
import { describe, expect, test } from 'vitest';
import { judgeWaitingRoom, type WaitedSale } from '../../src/lab/drills/waiting-room-figures.ts';
import type { Try } from '../../src/lab/workload/steady-purchases.ts';
import type { Look } from '../../src/lab/workload/waiting-line.ts';
import { accepted, facts, refused, timed } from './facts.ts';

const ms = (count: number) => BigInt(count) * 1_000_000n;
const inSale = (attempt: ReturnType<typeof timed>): Try => ({ voucherId: '9', ...attempt });
const jump = (attempt: Try): Try => ({ ...attempt, requestId: 'jump' });

/** A pass until 1,000 ms. */
const look = (userId: string, place: number, at: number, changes: Partial<Look> = {}): Look => ({
  ...{ userId, place, called: place, pass: `pass of ${place}`, passUntil: ms(1_000) },
  ...{ askedAt: ms(at), answeredAt: ms(at + 1), askAgainSeconds: 0 },
  ...changes,
});
const waits = { called: 0, pass: undefined, passUntil: undefined } as const;

const tries = [
  jump(inSale(timed(refused('3', 'pass-required'), 1, 2))),
  inSale(timed(accepted('1', 'a'), 20, 21)),
  inSale(timed(accepted('2', 'b'), 40, 41)),
];
/** User 1 has its turn at 12 ms, and user 2, who waited, at 32 ms. */
const looks = [
  look('1', 1, 11),
  look('2', 2, 13, { ...waits, called: 1 }),
  look('2', 2, 31, { called: 2 }),
];
const purchase = (userId: string, requestId = `r${userId}`) => ({
  ...{ voucherId: '9', userId, requestId },
});

const sale = (changes: Partial<WaitedSale> = {}): WaitedSale => ({
  purchases: tries.slice(1).map(({ userId, requestId }) => purchase(userId, requestId)),
  jumps: [purchase('3', 'jump')],
  ...{ tries, looks, passesAtOnce: 1 },
  facts: facts({ initialStock: 2, stock: 0, attempts: tries, redis: { stock: 0 } }),
  killed: ['kill api-1', 'kill redis-main'],
  ...changes,
});
const judged = (changes: Partial<WaitedSale> = {}) => judgeWaitingRoom([sale(changes)]);

test('a line that was served in its order has held', () => {
  expect(judged()).toMatchObject({ verdict: 'held', reasons: [] });
  expect(judged().figures).toMatchObject({
    ...{ places: 2, askedToWait: 1, placesLost: 0, placesShared: 0, inversions: 0 },
    ...{ passesTooEarly: 0, passesTooMany: 0, jumpsSold: 0, jumpsRefused: 1 },
  });
});

test('a user whose turn was over may have another place', () => {
  const again = look('1', 3, 50, { ...waits, called: 2 });
  expect(judged({ looks: [...looks, again] })).toMatchObject({ verdict: 'held' });
});

test('who asked at the same time may have any order', () => {
  const late = look('1', 1, 11, { answeredAt: ms(14) });
  const early = look('2', 2, 12, { ...waits, called: 1 });
  expect(judged({ looks: [late, early, ...looks.slice(2)] })).toMatchObject({ verdict: 'held' });
});

describe('violated is a line', () => {
  test.each<[string, Partial<WaitedSale>]>([
    [
      '1 users lost their place',
      { looks: [...looks.slice(0, 2), look('2', 3, 31, { called: 1, pass: undefined })] },
    ],
    [
      '1 places were given to two users',
      { looks: [...looks, look('4', 2, 33, { ...waits, called: 2 })] },
    ],
    [
      '1 users came later and have an earlier place',
      { looks: [look('1', 1, 15), ...looks.slice(1)] },
    ],
    [
      '1 passes were given before their turn',
      { looks: looks.with(2, look('2', 2, 31, { called: 1 })) },
    ],
    [
      '1 more users had a pass at a time than may have one',
      { looks: [looks[0] as Look, look('2', 2, 13)] },
    ],
  ])('of which one must say: %s', (text, changes) => {
    expect(judged(changes).reasons).toContain(text);
    expect(judged(changes).verdict).toBe('violated');
  });

  test('in which a purchase was sold without a pass', () => {
    const sold = jump(inSale(timed(accepted('3', 'c'), 3, 4)));
    const { verdict, reasons } = judged({ tries: [...tries, sold] });
    expect(verdict).toBe('violated');
    expect(reasons).toContain('1 purchases were sold without a pass');
  });
});

test.each<[string, Partial<WaitedSale>]>([
  ['nobody had to wait', { looks: looks.filter(({ pass }) => pass !== undefined) }],
  ['nobody tried without a pass', { tries: tries.slice(1) }],
  ['no redis-main was killed', { killed: ['kill api-1'] }],
  ['no api was killed', { killed: ['kill redis-main'] }],
])('unknown is a line of which one must say: %s', (text, changes) => {
  expect(judged(changes)).toMatchObject({ verdict: 'unknown', reasons: [`voucher 9: ${text}`] });
});
