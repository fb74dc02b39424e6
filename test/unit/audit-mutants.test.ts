/**
 * The audit is tested by mutants: the facts of a sale without a fault, with one defect each. Every
 * defect must turn exactly the checks red that it is about.
 */
import { describe, expect, test } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import type { Facts } from '../../src/audit/facts.ts';
import type { CheckName, Verdict } from '../../src/domain.ts';
import { accepted, alreadyOrdered, facts, history, refused, row, timed } from './facts.ts';

/** Three in stock; users 1 and 2 bought; user 1 asked again. All of it in real time. */
const sale = (): Facts =>
  facts({
    attempts: [
      timed(accepted('1', 'a'), 0, 10),
      timed(accepted('2', 'b'), 1, 11),
      { ...timed(alreadyOrdered('1', 'a'), 12, 13), requestId: 'again' },
    ],
    history: history(
      '0 a 1 requested',
      '1 a 1 granted',
      '2 a 1 accepted',
      '3 a 1 releasing',
      '4 b 2 requested',
      '5 b 2 granted',
      '6 b 2 accepted',
      '7 b 2 releasing',
    ),
  });

type Mutant = readonly [
  defect: string,
  mutate: (facts: Facts) => Facts,
  red: Partial<Record<CheckName, Verdict>>,
];

const { mysql, redis, attempts = [], history: events = [] } = sale();
/** The same sale, as if both had bought under one resource, with these fences. */
const withFences = (first: string, second: string) =>
  events.map((event) =>
    event.event === 'granted' ? { ...event, fence: event.orderId === 'a' ? first : second } : event,
  );
const violated = 'violated';
const unknown = 'unknown';

const mutants: readonly Mutant[] = [
  [
    'a lost order: accepted, and in neither store',
    (given) => ({
      ...given,
      mysql: { stock: 2, orders: mysql.orders.slice(1) },
      redis: { stock: 2, buyers: { 2: 'b' }, queued: [] },
      attempts: attempts.slice(0, 2),
    }),
    { 'no-lost-orders': violated },
  ],
  [
    'a failed order without a cause',
    (given) => ({
      ...given,
      mysql: {
        stock: 2,
        orders: [row('a', '1'), { ...row('b', '2'), status: 'failed', reason: 'undeliverable' }],
      },
      redis: { stock: 2, buyers: { 1: 'a' }, queued: [] },
    }),
    { 'no-lost-orders': violated },
  ],
  [
    'a user with two orders',
    (given) => ({
      ...given,
      mysql: { stock: 1, orders: [row('a', '1'), row('b', '1')] },
      redis: { stock: 1, buyers: { 1: 'a' }, queued: [] },
      attempts: [accepted('1', 'a'), { ...accepted('1', 'b'), requestId: 'second' }],
    }),
    { 'one-order-per-user': violated },
  ],
  [
    'a phantom: the replay of an order that nobody requested',
    (given) => ({
      ...{ ...given, locked: false },
      mysql: { stock: 0, orders: [...mysql.orders, { ...row('c', '3'), replayOf: 'x' }] },
      redis: { stock: 0, buyers: { 1: 'a', 2: 'b', 3: 'c' }, queued: [] },
    }),
    { 'no-phantom-orders': violated },
  ],
  [
    'a failed order that was replayed for another user',
    (given) => ({
      ...{ ...given, locked: false },
      mysql: {
        stock: 1,
        orders: [
          { ...row('a', '1'), status: 'failed', reason: 'undeliverable' },
          ...mysql.orders.slice(1),
          { ...row('c', '3'), replayOf: 'a' },
        ],
      },
      redis: { stock: 1, buyers: { 2: 'b', 3: 'c' }, queued: [] },
      attempts: attempts.slice(0, 2),
    }),
    { 'no-lost-orders': violated },
  ],
  [
    'a phantom: an order that nobody requested',
    (given) => ({
      ...given,
      mysql: { stock: 0, orders: [...mysql.orders, row('c', '3')] },
      redis: { stock: 0, buyers: { 1: 'a', 2: 'b', 3: 'c' }, queued: [] },
      history: [...events, ...history('8 c 3 granted', '9 c 3 releasing')],
    }),
    { 'no-phantom-orders': violated },
  ],
  [
    'an oversell: more orders than stock',
    (given) => ({ ...given, initialStock: 1, mysql: { ...mysql, stock: -1 }, redis: moved(-1) }),
    { 'no-oversell': violated },
  ],
  [
    'stock that disappeared',
    (given) => ({ ...given, mysql: { ...mysql, stock: 0 }, redis: moved(0) }),
    { 'no-oversell': violated },
  ],
  [
    'a unit that is sold to an order that does not exist',
    (given) => ({ ...given, mysql: { ...mysql, unitOrders: ['a', 'b', 'z'] } }),
    { 'no-oversell': violated },
  ],
  [
    'an order that has no unit',
    (given) => ({ ...given, mysql: { ...mysql, unitOrders: ['a'] } }),
    { 'no-oversell': violated },
  ],
  [
    'one order id for two purchases',
    (given) => ({ ...given, attempts: [...attempts, { ...accepted('1', 'a'), requestId: 'x' }] }),
    { 'order-ids-unique': violated },
  ],
  [
    'a buyer in Redis without an order in MySQL',
    (given) => ({ ...given, redis: { stock: 1, buyers: { 1: 'a', 2: 'b', 9: 'z' }, queued: [] } }),
    { 'redis-matches-mysql': violated },
  ],
  [
    'the order of another user in an answer',
    (given) => ({
      ...given,
      attempts: [...attempts, { ...alreadyOrdered('1', 'b'), requestId: 'x' }],
    }),
    { 'responses-match-database': violated },
  ],
  [
    'a sold-out before the stock could be gone',
    (given) => ({ ...given, attempts: [...attempts, timed(refused('3', 'sold-out'), 5, 6)] }),
    { 'responses-match-database': violated },
  ],
  [
    'an already-ordered before that order was requested',
    (given) => ({
      ...given,
      attempts: [
        timed(accepted('1', 'a'), 20, 30),
        ...attempts.slice(1, 2),
        { ...timed(alreadyOrdered('1', 'a'), 12, 13), requestId: 'again' },
      ],
    }),
    { 'responses-match-database': violated },
  ],
  [
    'an outcome that differs in the history alone',
    (given) => ({
      ...given,
      history: events.map((event) =>
        event.orderId === 'b' && event.event === 'accepted'
          ? { ...event, event: 'refused' }
          : event,
      ),
    }),
    { 'responses-match-database': violated },
  ],
  [
    'two critical sections at once',
    (given) => ({
      ...given,
      history: history('0 a 1 granted', '1 b 2 granted', '2 a 1 releasing', '3 b 2 releasing'),
    }),
    { 'mutual-exclusion': violated },
  ],
  [
    'a fence that a counter without its data gave again',
    (given) => ({ ...given, history: withFences('7', '1') }),
    { 'mutual-exclusion': violated },
  ],
  [
    'a write with an old fence after the write of a newer one',
    (given) => ({
      ...given,
      history: [...withFences('1', '2'), ...history('8 b 2 committed', '9 a 1 committed')],
    }),
    { 'mutual-exclusion': violated },
  ],
  [
    'a refusal beside a free lock',
    (given) => ({
      ...given,
      history: [...events, ...history('100 c 3 requested', '2100 c 3 denied')],
    }),
    { progress: violated },
  ],
  [
    'a missing grant',
    (given) => ({ ...given, history: events.filter(({ event }) => event !== 'granted') }),
    { 'mutual-exclusion': unknown, progress: unknown },
  ],
  [
    'an empty history',
    (given) => ({ ...given, history: [] }),
    { 'mutual-exclusion': unknown, progress: unknown },
  ],
  [
    'a gap in the history',
    (given) => ({ ...given, historyHasGap: true }),
    { 'mutual-exclusion': unknown, progress: unknown },
  ],
  [
    'nobody bought although stock was left',
    (given) => ({
      ...given,
      mysql: { stock: 3, orders: [] },
      redis: { stock: 3, buyers: {}, queued: [] },
      attempts: [refused('1', 'lock-service-unavailable')],
      history: [],
    }),
    { progress: unknown },
  ],
  [
    'a sale that is still running',
    (given) => ({ ...given, redis: { ...moved(1), isMoving: true } }),
    { 'redis-matches-mysql': unknown },
  ],
];

/** The buyers of the sale, with another stock. */
function moved(stock: number): NonNullable<Facts['redis']> {
  return { buyers: redis?.buyers ?? {}, queued: [], stock };
}

const red = (given: Facts) =>
  Object.fromEntries(
    audit(given)
      .findings.filter(({ verdict }) => verdict !== 'held')
      .map(({ check, verdict }) => [check, verdict]),
  );

test('a sale without a fault is held by every check, and none is skipped', () => {
  expect(audit(sale())).toMatchObject({ verdict: 'held', skipped: [] });
});

test('a sale whose units have their orders is held', () => {
  const given = sale();
  expect(red({ ...given, mysql: { ...mysql, unitOrders: ['b', 'a'] } })).toEqual({});
});

describe('the audit turns red', () => {
  test.each(mutants)('%s', (_, mutate, expected) => {
    expect(red(mutate(sale()))).toEqual(expected);
  });

  test('has a mutant for each of its checks', () => {
    const shown = mutants.flatMap(([, , expected]) => Object.entries(expected));
    const violations = shown.filter(([, verdict]) => verdict === violated).map(([check]) => check);
    const all = audit(sale()).findings.map(({ check }) => check);
    expect([...new Set(violations)].sort()).toEqual(all.sort());
  });
});
