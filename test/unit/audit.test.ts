/** The checks of the audit on facts written by hand: what each accepts, and what it finds. */
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { audit, checks, worstOf } from '../../src/audit/audit.ts';
import type { OrderRow } from '../../src/audit/facts.ts';
import { type Finding, judge } from '../../src/audit/finding.ts';
import type { CheckName } from '../../src/domain.ts';
import {
  accepted,
  acceptedWithoutOrder,
  alreadyOrdered,
  facts,
  type Given,
  history,
  refused,
  row,
  unknown,
} from './facts.ts';

const [a, b] = [row('a', '1'), row('b', '2')];
const failed: OrderRow = { ...b, status: 'failed', reason: 'undeliverable' };

type Row = readonly [text: string, given: Given, expected: Partial<Finding>];
const held = { verdict: 'held', count: 0 } as const;
const undecided = { verdict: 'unknown', count: 0 } as const;
const violated = (count: number, first: string, worst = first): Partial<Finding> => ({
  verdict: 'violated',
  count,
  first: expect.stringContaining(first),
  worst: expect.stringContaining(worst),
});

const mutualExclusion: readonly Row[] = [
  [
    'holds when each owner calls the release before the next is granted',
    {
      history: history('1 A 7 granted', '2 A 7 releasing', '3 B 7 granted', '4 B 7 releasing'),
    },
    held,
  ],
  [
    'lets sections of different resources overlap',
    {
      history: history(
        '1 A 7 granted one',
        '2 B 7 granted two',
        '3 A 7 releasing one',
        '4 B 7 releasing two',
      ),
    },
    held,
  ],
  [
    'finds a grant before the owner has called its release',
    {
      history: history('1 A 7 granted', '2 B 7 granted', '3 A 7 releasing', '4 B 7 releasing'),
    },
    violated(1, 'lock: order A on api-1 from 0.0 ms to 2.0 ms, and order B'),
  ],
  [
    'ends a section with the call of the release, and not with the answer to it',
    {
      history: history('1 A 7 granted', '2 A 7 releasing', '3 B 7 granted', '4 A 7 released'),
    },
    held,
  ],
  [
    'does not end a section with the end of the lease',
    {
      history: history('1 A 7 granted', '2 A 7 expired', '3 B 7 granted', '4 A 7 releasing'),
    },
    violated(1, 'order A on api-1 from 0.0 ms to 3.0 ms'),
  ],
  [
    'ends a section without a release with the answer to the purchase',
    { history: history('1 A 7 granted', '2 A 7 accepted', '3 B 7 granted', '4 B 7 releasing') },
    held,
  ],
  [
    'ends the section of a dead owner with its death',
    { history: history('1 A 7 granted', '2 A 7 died', '3 B 7 granted', '4 B 7 releasing') },
    held,
  ],
  [
    'takes an owner that never released and was never answered for one that is still inside',
    { history: history('1 A 7 granted', '9 B 7 granted', '10 B 7 releasing') },
    violated(1, 'order B'),
  ],
  [
    'compares with the owner that is inside longest, and not with the last one alone',
    {
      history: history(
        '1 A 7 granted',
        '2 B 7 granted',
        '3 B 7 releasing',
        '4 C 7 granted',
        '5 C 7 releasing',
        '9 A 7 releasing',
      ),
    },
    violated(2, 'order B', 'order B'),
  ],
  [
    'does not count an owner that acquires its lock again as two',
    {
      history: history('1 A 7 granted', '2 A 7 granted', '3 A 7 releasing', '4 A 7 releasing'),
    },
    held,
  ],
  [
    'ends a section of a re-entrant lock with its last release',
    {
      history: history(
        '1 A 7 granted',
        '2 A 7 granted',
        '3 A 7 releasing',
        '4 B 7 granted',
        '5 A 7 releasing',
      ),
    },
    violated(1, 'order A on api-1 from 0.0 ms to 4.0 ms'),
  ],
  [
    'puts sections in the order of their grants, when the requests came in another order',
    {
      history: history(
        '1 A 7 requested',
        '2 B 7 requested',
        '3 B 7 granted',
        '4 B 7 releasing',
        '5 A 7 granted',
        '6 A 7 releasing',
      ),
    },
    held,
  ],
];

const progress: readonly Row[] = [
  [
    'finds a denial beside a lock that has been free for 500 ms',
    {
      history: history(
        '0 A 7 granted',
        '20 B 8 requested',
        '90 A 7 releasing',
        '100 A 7 released',
        '600 B 8 denied',
      ),
    },
    violated(1, 'user 8 was refused as busy although the lock was free'),
  ],
  [
    'allows a lock 500 ms until a waiter notices that it is free',
    {
      history: history('0 A 7 granted', '20 B 8 requested', '100 A 7 released', '599 B 8 denied'),
    },
    held,
  ],
  [
    'counts from the answer to the release, and not from its call',
    {
      history: history(
        '0 A 7 granted',
        '20 B 8 requested',
        '50 A 7 releasing',
        '300 A 7 released',
        '700 B 8 denied',
      ),
    },
    held,
  ],
  [
    'holds when another order held the lock at the denial',
    {
      history: history(
        '0 A 7 granted',
        '20 B 8 requested',
        '2020 B 8 denied',
        '2100 A 7 releasing',
        '2101 A 7 released',
      ),
    },
    held,
  ],
  [
    'holds when the owner at the denial acquired the lock after others had released it',
    {
      history: history(
        '0 A 7 granted',
        '20 B 8 requested',
        '30 A 7 released',
        '1900 C 9 granted',
        '2020 B 8 denied',
        '2100 C 9 released',
      ),
    },
    held,
  ],
  [
    'finds a denial beside the owner of another resource',
    { history: history('0 A 7 granted other', '20 B 8 requested', '2020 B 8 denied') },
    violated(1, 'user 8'),
  ],
  [
    'finds a denial of a lock that no order ever held',
    { history: history('0 B 8 requested', '2000 B 8 denied') },
    violated(1, 'user 8'),
  ],
  [
    'holds when a request without a wait is denied right after a release',
    {
      history: history(
        '0 A 7 granted',
        '1000 A 7 releasing',
        '1001 A 7 released',
        '1002 B 8 requested',
        '1003 B 8 denied',
      ),
    },
    held,
  ],
  [
    'finds a denial after an owner was answered and forgot the release',
    {
      history: history('0 A 7 granted', '20 A 7 accepted', '4000 B 8 requested', '6000 B 8 denied'),
    },
    violated(1, 'user 8'),
  ],
  [
    'finds a denial after the death of the owner',
    {
      history: history('0 A 7 granted', '20 A 7 died', '4000 B 8 requested', '6000 B 8 denied'),
    },
    violated(1, 'user 8'),
  ],
  [
    'does not count the section of the order that is denied: it waits for itself',
    {
      history: history(
        '0 A 7 requested',
        '1 A 7 granted',
        '2 A 7 requested',
        '2002 A 7 denied',
        '2003 A 7 refused busy',
      ),
    },
    violated(1, 'user 7'),
  ],
  [
    'measures the wait from the last request of the order, and not from its first',
    {
      history: history(
        '0 A 7 requested',
        '1 A 7 granted',
        '3000 A 7 requested',
        '3100 A 7 denied',
        '3200 A 7 releasing',
      ),
    },
    held,
  ],
  [
    'counts from the latest release, also when that section began first',
    {
      history: history(
        '0 A 7 granted',
        '5 B 8 granted',
        '20 C 9 requested',
        '1000 B 8 released',
        '1900 A 7 died',
        '2002 C 9 denied',
      ),
    },
    held,
  ],
  [
    'counts every denial',
    {
      history: history(
        '0 A 7 granted',
        '10 A 7 died',
        '20 B 8 requested',
        '30 C 9 requested',
        '2020 B 8 denied',
        '2030 C 9 denied',
      ),
    },
    violated(2, 'user 8'),
  ],
];

const noOversell: readonly Row[] = [
  ['does not count a failed order as sold', { stock: 2, orders: [a, failed] }, held],
  ['finds an order that took no stock', { stock: 2 }, violated(1, 'stock 2 + 2 orders is not 3')],
  ['finds stock that vanished without an order', { stock: 0 }, violated(1, 'stock 0 + 2 orders')],
  [
    'names the first and the worst of several',
    { initialStock: 1, stock: -3 },
    violated(3, '2 orders for 1', 'stock is -3'),
  ],
];

const oneOrderPerUser: readonly Row[] = [
  ['lets a user buy again after a failed order', { orders: [a, failed, row('c', '2')] }, held],
  [
    'finds every user with two orders, and names the one with most',
    {
      orders: [a, row('b', '1'), row('c', '2'), row('d', '2'), row('e', '2'), row('f', '3')],
    },
    violated(2, 'user 1 has 2 orders: a, b', 'user 2 has 3 orders: c, d and 1 more'),
  ],
];

const noLostOrders: readonly Row[] = [
  ['takes a failed order with its reason for an answer', { orders: [a, failed] }, held],
  ['waits for an order that is still queued', { orders: [a], redis: { queued: ['b'] } }, undecided],
  [
    'finds a lost order',
    { orders: [a] },
    violated(1, 'order b of user 2 was accepted (request r2) and does not exist'),
  ],
  [
    'finds a lost order beside a queued one',
    { orders: [], redis: { queued: ['a'] } },
    violated(1, 'order b'),
  ],
  [
    'finds an accepted attempt that names no order',
    { attempts: [acceptedWithoutOrder('1')] },
    violated(1, 'user 1'),
  ],
];

const noPhantomOrders: readonly Row[] = [
  [
    'holds when an attempt of unknown outcome had an effect',
    { attempts: [accepted('1', 'a'), unknown('2')] },
    held,
  ],
  [
    'explains one order with one unknown attempt, not two',
    { orders: [a, b, row('c', '2')], attempts: [accepted('1', 'a'), unknown('2')] },
    violated(1, 'order c of user 2'),
  ],
  [
    'does not explain an order with another user’s attempt',
    { attempts: [accepted('1', 'a'), unknown('3')] },
    violated(1, 'order b of user 2'),
  ],
  [
    'finds an order whose attempt was refused',
    { attempts: [accepted('1', 'a'), refused('2', 'busy')] },
    violated(1, 'order b'),
  ],
];

const redisMatchesMysql: readonly Row[] = [
  ['waits until nothing is queued', { stock: 2, orders: [a], redis: { queued: ['b'] } }, undecided],
  [
    'holds when a failed order was given back',
    { stock: 2, orders: [a, failed], redis: { stock: 2, buyers: { 1: 'a' } } },
    held,
  ],
  [
    'finds a failed order that was not given back',
    { orders: [a, failed] },
    violated(1, 'sold order b to user 2'),
  ],
  [
    'does not excuse a Redis that has lost the voucher',
    { redis: { stock: null, buyers: {} } },
    violated(3, 'the stock is missing in Redis and 1 in MySQL'),
  ],
  [
    'does not take a lost voucher for a sold-out one',
    { initialStock: 2, stock: 0, redis: { stock: null } },
    violated(1, 'the stock is missing in Redis'),
  ],
  [
    'finds a buyer whose order is another one',
    { redis: { buyers: { 1: 'a', 2: 'x' } } },
    violated(1, 'MySQL has b'),
  ],
  [
    'finds an order whose user is no buyer',
    { redis: { stock: 3, buyers: { 1: 'a' } } },
    violated(2, 'the stock is 3 in Redis and 1 in MySQL'),
  ],
];

const orderIdsUnique: readonly Row[] = [
  [
    'holds when a repeated request is answered with its order again',
    { attempts: [accepted('1', 'a'), accepted('1', 'a')] },
    held,
  ],
  [
    'finds one id for two users',
    { attempts: [accepted('1', 'a'), accepted('2', 'a')] },
    violated(1, 'order a means user 1'),
  ],
  [
    'finds one id for two rows',
    { orders: [a, b, row('b', '3')] },
    violated(1, 'order b is 2 times in MySQL'),
  ],
];

const responsesMatchDatabase: readonly Row[] = [
  [
    'holds when each answer names an order of its own user',
    { attempts: [accepted('1', 'a'), alreadyOrdered('2', 'b')] },
    held,
  ],
  [
    'finds an answer with the order of another user',
    { attempts: [accepted('2', 'a')] },
    violated(1, 'user 2 was answered accepted with order a, which belongs to user 1'),
  ],
  [
    'finds “already ordered” without an order',
    { attempts: [refused('1', 'already-ordered')] },
    violated(1, 'user 1'),
  ],
  [
    'finds “already ordered” with an order that does not exist',
    { attempts: [alreadyOrdered('3', 'x')] },
    violated(1, 'user 3'),
  ],
  [
    'accepts an order that is still queued',
    { orders: [a], redis: { queued: ['b'] } },
    { count: 0 },
  ],
  [
    'finds “sold out” while some were left',
    { attempts: [refused('3', 'sold-out'), refused('4', 'sold-out')] },
    violated(1, '2 were answered sold-out, but only 2 of 3'),
  ],
  [
    'counts failed, queued and unknown orders as taken',
    {
      initialStock: 4,
      orders: [a, failed],
      redis: { queued: ['c'] },
      attempts: [
        accepted('1', 'a'),
        accepted('2', 'b'),
        accepted('3', 'c'),
        unknown('4'),
        refused('5', 'sold-out'),
      ],
    },
    held,
  ],
  [
    'counts an order once that is still queued and recorded already',
    {
      redis: { queued: ['b'] },
      attempts: [accepted('1', 'a'), accepted('2', 'b'), refused('3', 'sold-out')],
    },
    violated(1, 'only 2 of 3'),
  ],
  [
    'counts an unknown attempt once that had an effect',
    { attempts: [accepted('1', 'a'), unknown('2'), refused('3', 'sold-out')] },
    violated(1, 'only 2 of 3'),
  ],
];

const tables: Readonly<Record<CheckName, readonly Row[]>> = {
  'no-oversell': noOversell,
  'one-order-per-user': oneOrderPerUser,
  'no-lost-orders': noLostOrders,
  'no-phantom-orders': noPhantomOrders,
  'redis-matches-mysql': redisMatchesMysql,
  'order-ids-unique': orderIdsUnique,
  'responses-match-database': responsesMatchDatabase,
  'mutual-exclusion': mutualExclusion,
  progress,
};

for (const [check, rows] of Object.entries(tables))
  describe(check, () => {
    test.each(rows)('%s', (_, given, expected) => {
      expect(audit(facts(given)).findings).toContainEqual(
        expect.objectContaining({ check, ...expected }),
      );
    });
  });

describe('the audit as a whole', () => {
  test('runs every check that has a file, each once', () => {
    const files = readdirSync(new URL('../../src/audit/checks', import.meta.url));
    const names = audit(facts()).findings.map(({ check }) => `${check}.ts`);
    expect(names.sort()).toEqual(files.sort());
  });

  test('is as bad as its worst finding, and a violation is worse than an unknown verdict', () => {
    expect(worstOf(['held', 'unknown', 'violated', 'held'])).toBe('violated');
    const queued = { orders: [a], redis: { queued: ['b'] } };
    expect(audit(facts(queued)).verdict).toBe('violated');
    expect(audit(facts({ ...queued, stock: 2 })).verdict).toBe('unknown');
    expect(audit(facts()).verdict).toBe('held');
  });

  test('skips what cannot be judged, and says why', () => {
    const {
      redis: _,
      attempts: __,
      history: ___,
      ...known
    } = facts({ rung: 'read-then-write', onePerUser: false });
    const { findings, skipped } = audit(known);
    expect(findings.map(({ check }) => check)).toEqual(['no-oversell', 'order-ids-unique']);
    expect(Object.fromEntries(skipped.map(({ check, why }) => [check, why]))).toEqual({
      'one-order-per-user': 'this rung does not promise it',
      'no-lost-orders': 'the answers of the clients were not kept',
      'no-phantom-orders': 'the answers of the clients were not kept',
      'redis-matches-mysql': 'this rung keeps no buyers in Redis',
      'responses-match-database': 'the answers of the clients were not kept',
      'mutual-exclusion': 'no history was kept',
      progress: 'no history was kept',
    });
  });

  test('skips the checks of a lock on a rung without a lock', () => {
    const overlap = history('0 A 7 granted', '1 B 7 granted', '2 C 7 requested', '900 C 7 denied');
    const { findings, skipped } = audit(facts({ locked: false, history: overlap }));
    const why = 'this rung has no lock that should exclude others';
    expect(skipped).toEqual([
      { check: 'mutual-exclusion', why },
      { check: 'progress', why },
    ]);
    expect(findings.map(({ check }) => check)).not.toContain('mutual-exclusion');
  });

  test.each(checks)('never takes a crash of the check $name for a pass', (check) => {
    const cases = () => {
      throw new TypeError('not iterable');
    };
    expect(judge({ ...check, cases }, facts())).toEqual({
      check: check.name,
      verdict: 'unknown',
      count: 0,
      first: 'the check itself failed: TypeError: not iterable',
    });
  });
});
