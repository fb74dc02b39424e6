/** The figures of the drill flood, each from a run with one thing wrong. */
import { expect, test } from 'vitest';
import { type FloodedSale, judgeFlood } from '../../src/lab/drills/flood-figures.ts';
import type { Try } from '../../src/lab/workload/steady-purchases.ts';
import { accepted, facts, refused, timed } from './facts.ts';

const inSale = (attempt: ReturnType<typeof timed>): Try => ({ voucherId: '9', ...attempt });
const tries = [inSale(timed(accepted('1', 'a'), 1, 2)), inSale(timed(accepted('2', 'b'), 3, 4))];
const floods = [
  { name: 'the list', answers: { '200': 400, 'too-many-requests': 9_000 } },
  { name: 'readiness', answers: { 'not-found': 9_000 } },
];
const judged = (changes: Partial<FloodedSale> = {}) =>
  judgeFlood({
    purchases: tries.map(({ userId, requestId }) => ({ voucherId: '9', userId, requestId })),
    facts: facts({ initialStock: 2, stock: 0, attempts: tries, redis: { stock: 0 } }),
    ...{ tries, floods },
    ...changes,
  });

test('a flood that was refused, beside purchases that were all sold, has held', () => {
  expect(judged()).toMatchObject({ verdict: 'held', reasons: [] });
  expect(judged().figures).toMatchObject({ floodAnswers: 18_400, floodRefused: 9_000 });
});

test('violated is a run in which a buyer was taken for the flood', () => {
  const limited = inSale(timed(refused('2', 'too-many-requests'), 3, 4));
  const { verdict, reasons } = judged({ tries: [...tries, limited] });
  expect(verdict).toBe('violated');
  expect(reasons).toContain('1 answers do not belong to this sale');
});

test.each(['500', 'not-ready', '502'])(
  'violated is a run in which a flood is answered %s',
  (code) => {
    const failed = [{ name: 'the list', answers: { ...floods[0]?.answers, [code]: 3 } }];
    expect(judged({ floods: failed })).toMatchObject({
      ...{ verdict: 'violated', reasons: ['3 requests of the flood failed'] },
    });
  },
);

test.each([
  ['a flood of the list had 500 answers only', { '200': 100, 'too-many-requests': 400 }],
  ['nginx refused nothing of a flood of the list', { '200': 9_000 }],
])('unknown is a run of which one must say: %s', (text, answers) => {
  expect(judged({ floods: [{ name: 'the list', answers }] })).toMatchObject({
    ...{ verdict: 'unknown', reasons: [text] },
  });
});
