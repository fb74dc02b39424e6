/** The storm's plan is the same for its seed, and its verdict is red for each kind of damage. */
import { describe, expect, test } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import type { Facts } from '../../src/audit/facts.ts';
import { stormFaults } from '../../src/lab/drills/storm-faults.ts';
import { stormFigures, stormReasons } from '../../src/lab/drills/storm-figures.ts';
import { planPurchases, type Try } from '../../src/lab/workload/steady-purchases.ts';

const roles = [
  ['redis-main', ['redis-main']],
  ['instance', ['api-1', 'api-2']],
] as const;

function faults(seed: number, count: number) {
  const all = stormFaults(roles, seed);
  return Array.from({ length: count }, () => all.next().value);
}

const summary = (seed: number): string =>
  JSON.stringify(faults(seed, 40).map(({ fault, ...times }) => [fault.name, times]));

describe('the faults of a storm', () => {
  test('are the same for the same seed, and others for another', () => {
    expect(summary(3)).toBe(summary(3));
    expect(new Set([1, 2, 3, 4, 5].map(summary)).size).toBe(5);
  });

  test('every kind comes once before any kind comes again, on every server in the end', () => {
    const kinds = ['kill redis-main', 'kill instance', 'pause redis-main', 'pause instance'].sort();
    const all = faults(9, 40);
    for (let from = 0; from < all.length; from += 4)
      expect(
        all
          .slice(from, from + 4)
          .map(({ kind }) => kind)
          .sort(),
      ).toEqual(kinds);
    const names = new Set(all.map(({ fault }) => fault.name));
    for (const name of ['api-1', 'api-2', 'redis-main'])
      for (const verb of ['kill', 'pause']) expect(names).toContain(`${verb} ${name}`);
  });
});

const purchases = planPurchases('7', 10, 1);

test('the plan has every user once, and every tenth user twice, with a key for each purchase', () => {
  expect(purchases).toHaveLength(11);
  expect(new Set(purchases.map(({ requestId }) => requestId)).size).toBe(11);
  expect(new Set(purchases.map(({ userId }) => userId)).size).toBe(10);
});

/** Nine of ten users have an order, and the stock was nine. */
const orderOf = (userId: string): string => `10${userId}`;
const tries: Try[] = purchases.map(({ userId, requestId }, index) => {
  const isSecond = requestId.endsWith('-2');
  const order = isSecond ? 'already-ordered' : 'accepted';
  const answer = userId === '1' ? 'sold-out' : order;
  return {
    ...{ voucherId: '7', userId, requestId, latencyMs: 1 },
    sentAt: String(answer === 'sold-out' || isSecond ? 1_000 : index),
    answeredAt: String(2_000 + index * 1_000_000),
    ...(answer === 'accepted'
      ? { outcome: 'accepted', orderId: orderOf(userId) }
      : { outcome: 'refused', reason: answer }),
    ...(answer === 'already-ordered' && { orderId: orderOf(userId) }),
  };
});
const buyers = Array.from({ length: 9 }, (_, index) => String(index + 2));
const facts: Facts = {
  voucherId: '7',
  createdAt: '2026-01-01T00:00:00.000Z',
  rung: 'lua-stream',
  onePerUser: true,
  locked: false,
  initialStock: 9,
  mysql: {
    stock: 0,
    orders: buyers.map((userId) => ({
      id: orderOf(userId),
      userId,
      status: 'confirmed',
      reason: null,
    })),
  },
  redis: {
    stock: 0,
    buyers: Object.fromEntries(buyers.map((userId) => [userId, orderOf(userId)])),
    queued: [],
  },
  attempts: tries,
};
const every = Object.fromEntries(
  ['redis-main', 'database', 'nginx', 'instance', 'worker'].flatMap((role) => [
    [`kill ${role}`, 1],
    [`pause ${role}`, 1],
  ]),
);

function judged(
  { orders = facts.mysql.orders, stock = 0 }: Partial<Facts['mysql']> = {},
  answers: readonly Try[] = tries,
  injected: Readonly<Record<string, number>> = every,
) {
  const own = { ...facts, mysql: { orders, stock }, attempts: answers };
  const figures = stormFigures(purchases, answers, [own]);
  return stormReasons(figures, injected, [{ facts: own, audit: audit(own) }]);
}

const [first] = facts.mysql.orders;
if (!first) throw new Error('there are orders');

describe('the verdict of a storm', () => {
  test('is held when sold, recorded and accepted are equal and nothing is missing', () => {
    expect(judged()).toEqual({ verdict: 'held', reasons: [] });
  });

  test('an accepted order that MySQL does not have is a violation', () => {
    const { verdict, reasons } = judged({ orders: facts.mysql.orders.slice(1), stock: 1 });
    expect(verdict).toBe('violated');
    expect(reasons).toContain('1 accepted orders were lost');
  });

  test('a user with two orders is a violation', () => {
    const { verdict, reasons } = judged({
      orders: [...facts.mysql.orders, { ...first, id: '999' }],
      stock: -1,
    });
    expect(verdict).toBe('violated');
    expect(reasons).toContain('1 users have two orders of one voucher');
  });

  test('stock that was taken without an order is a violation', () => {
    const { verdict, reasons } = judged({ stock: -1 });
    expect(verdict).toBe('violated');
    expect(reasons).toContain('10 sold, 9 recorded and 9 accepted are not equal');
  });

  test('a purchase that ends without a final answer is a violation', () => {
    const lost = tries.map((each): Try => {
      const { orderId: _, ...rest } = each;
      return each.userId === '1' ? { ...rest, outcome: 'unknown', reason: 'timeout' } : each;
    });
    const { verdict, reasons } = judged({}, lost);
    expect(verdict).toBe('violated');
    expect(reasons).toContain('1 purchases never got a final answer');
  });

  test('a purchase that was never sent says nothing about the service', () => {
    const sent = tries.filter(({ userId }) => userId !== '1');
    expect(judged({}, sent)).toEqual({
      verdict: 'unknown',
      reasons: ['1 purchases were not sent in time'],
    });
  });

  test.each(['internal-error', 'unknown-voucher'])('an answer %s is a violation', (reason) => {
    const outcome = reason === 'internal-error' ? 'unknown' : 'refused';
    const [answer] = tries;
    if (!answer) throw new Error('there are tries');
    const { orderId: _, ...rest } = answer;
    const { verdict, reasons } = judged({}, [{ ...rest, outcome, reason, sentAt: '0' }, ...tries]);
    expect(verdict).toBe('violated');
    expect(reasons).toContain('1 answers do not belong to this sale');
  });

  test('a part that was never killed makes it unknown, and so does a storm without a sale', () => {
    const { 'kill worker': _, ...others } = every;
    expect(judged({}, tries, others)).toEqual({
      verdict: 'unknown',
      reasons: ['there was no kill worker'],
    });
    const refused = purchases.map(
      (purchase): Try => ({ ...purchase, latencyMs: 1, outcome: 'refused', reason: 'not-ready' }),
    );
    expect(judged({ orders: [], stock: 9 }, refused).reasons).toContain('nobody bought');
  });
});
