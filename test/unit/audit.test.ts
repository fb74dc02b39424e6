/** The checks of the audit on facts written by hand: what each accepts, and what it finds. */
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  audit as audited,
  auditInEnglish,
  checks,
  worstOf,
} from '../../src/service/audit/audit.ts';
import { judge } from '../../src/service/audit/check.ts';
import type { Facts, OrderRow } from '../../src/service/audit/facts.ts';
import type { CheckName } from '../../src/service/domain.ts';
import {
  accepted,
  acceptedWithoutOrder,
  alreadyOrdered,
  facts,
  type Given,
  history,
  lockFacts,
  refused,
  row,
  timed,
  unknown,
} from './facts.ts';

const [a, b] = [row('a', '1'), row('b', '2')];
const failed: OrderRow = { ...b, status: 'failed', reason: 'undeliverable' };

/** With the sentences that people read. */
const audit = (of: Facts) => ({ ...audited(of), ...auditInEnglish(audited(of)) });
type FindingText = ReturnType<typeof audit>['findings'][number];

type Row = readonly [text: string, given: Given, expected: Partial<FindingText>];
const held = { verdict: 'held', count: 0 } as const;
const undecided = (why: string): Partial<FindingText> => ({
  verdict: 'unknown',
  count: 0,
  first: expect.stringContaining(why),
});
const violated = (count: number, first: string, worst = first): Partial<FindingText> => ({
  verdict: 'violated',
  count,
  first: expect.stringContaining(first),
  worst: expect.stringContaining(worst),
});

/** Of both checks of the lock: a section that the history does not have cannot be judged. */
const incompleteHistories: readonly Row[] = [
  ...(
    [
      ['an order was inside', 'too few grants of the lock', '2 b 2 after-acquire'],
      ['a release has no grant', 'too few grants of the lock', '2 b 2 releasing'],
      [
        'a buyer was refused inside',
        'no grant of the lock',
        ...['2 b 2 requested', '3 b 2 refused already-ordered'],
      ],
      ['a buyer found the lock busy', 'no denial of', '2 b 2 requested', '3 b 2 refused busy'],
    ] as const
  ).map(
    ([what, missing, ...events]): Row => [
      `cannot decide when ${what}, and its event is missing`,
      {
        ...{ orders: [a], attempts: [], stock: 2, redis: { stock: 2, buyers: { 1: 'a' } } },
        history: history('0 a 1 granted', '1 a 1 releasing', ...events),
      },
      undecided(missing),
    ],
  ),
  [
    'cannot decide when the lock events of one order name two requests',
    {
      history: history('0 a 1 granted', '1 a 1 releasing', '2 b 2 granted', '3 b 2 releasing').map(
        (event, index) => (index === 2 ? { ...event, requestId: 'r1' } : event),
      ),
    },
    undecided('the lock events of two requests for order b'),
  ],
  [
    'cannot decide when the history has a gap',
    { historyHasGap: true },
    undecided('the history has a gap'),
  ],
];

const mutualExclusion: readonly Row[] = [
  [
    'holds when each owner calls the release before the next is granted',
    lockFacts('1 A 7 granted', '2 A 7 releasing', '3 B 7 granted', '4 B 7 releasing'),
    held,
  ],
  [
    'lets sections of different resources overlap',
    lockFacts('1 A 7 granted one, 2 B 7 granted two, 3 A 7 releasing one, 4 B 7 releasing two'),
    held,
  ],
  [
    'finds a grant before the owner has called its release',
    lockFacts('1 A 7 granted', '2 B 7 granted', '3 A 7 releasing', '4 B 7 releasing'),
    violated(1, 'lock: user 7 on api-1 from 0.0 ms to 2.0 ms (order A), and user'),
  ],
  [
    'holds when fences grow with every grant, and from write to write',
    lockFacts(
      '1 A 7 granted seat 9, 2 A 7 committed, 3 A 7 releasing seat, 4 B 7 granted seat 10',
      '5 B 7 committed, 6 B 7 releasing seat, 7 C 8 granted stand 1, 8 C 8 releasing stand',
    ),
    held,
  ],
  [
    'lets an owner that acquires its lock again share its fence',
    lockFacts(
      '1 A 7 granted seat 4, 2 A 7 granted seat 4, 3 A 7 releasing seat, 4 A 7 releasing seat',
    ),
    held,
  ],
  [
    'finds a fence that is not larger than an earlier one, as from a counter that was lost',
    lockFacts(
      '1 A 7 granted seat 10, 2 A 7 releasing seat, 3 B 7 granted seat 9, 4 B 7 releasing seat',
      '5 C 7 granted seat 10, 6 C 7 releasing seat',
    ),
    violated(2, 'seat: order B was granted the fence 9 after order A was granted the fence 10'),
  ],
  [
    'finds a write with an old fence, also when its section was over',
    lockFacts(
      '1 A 7 granted seat 9, 2 A 7 releasing seat, 3 B 7 granted seat 10, 4 B 7 committed',
      '5 B 7 releasing seat, 6 A 7 committed',
    ),
    violated(1, 'seat: order A wrote with the fence 9 after order B wrote with the fence 10'),
  ],
  [
    'ends a section with the call of the release, and not with the answer to it',
    lockFacts('1 A 7 granted', '2 A 7 releasing', '3 B 7 granted', '4 A 7 released'),
    held,
  ],
  [
    'does not end a section with the end of the lease',
    lockFacts('1 A 7 granted', '2 A 7 expired', '3 B 7 granted', '4 A 7 releasing'),
    violated(1, 'user 7 on api-1 from 0.0 ms to 3.0 ms (order A)'),
  ],
  [
    'ends a section without a release with the answer to the purchase',
    lockFacts('1 A 7 granted', '2 A 7 accepted', '3 B 7 granted', '4 B 7 releasing'),
    held,
  ],
  [
    'ends the section of a dead owner with its death',
    lockFacts('1 A 7 granted', '2 A 7 died', '3 B 7 granted', '4 B 7 releasing'),
    held,
  ],
  [
    'takes an owner that never released and was never answered for one that is still inside',
    lockFacts('1 A 7 granted', '9 B 7 granted', '10 B 7 releasing'),
    violated(1, 'order B'),
  ],
  [
    'compares with the owner that is inside longest, and not with the last one alone',
    lockFacts(
      '1 A 7 granted, 2 B 7 granted, 3 B 7 releasing, 4 C 7 granted, 5 C 7 releasing',
      '9 A 7 releasing',
    ),
    violated(2, 'order B', 'order B'),
  ],
  [
    'does not count an owner that acquires its lock again as two',
    lockFacts('1 A 7 granted', '2 A 7 granted', '3 A 7 releasing', '4 A 7 releasing'),
    held,
  ],
  [
    'ends a section of a re-entrant lock with its last release',
    lockFacts('1 A 7 granted, 2 A 7 granted, 3 A 7 releasing, 4 B 7 granted, 5 A 7 releasing'),
    violated(1, 'user 7 on api-1 from 0.0 ms to 4.0 ms (order A)'),
  ],
  [
    'puts sections in the order of their grants, when the requests came in another order',
    lockFacts(
      '1 A 7 requested, 2 B 7 requested, 3 B 7 granted, 4 B 7 releasing, 5 A 7 granted',
      '6 A 7 releasing',
    ),
    held,
  ],
  [
    'cannot decide about an accepted order without a grant of the lock',
    { orders: [], history: history('0 a 1 granted', '1 a 1 releasing') },
    undecided('the history has no grant of the lock for order b'),
  ],
  [
    'cannot decide about a confirmed order without a grant of the lock',
    { attempts: [], history: history('0 b 2 granted', '1 b 2 releasing') },
    undecided('the history has no grant of the lock for order a'),
  ],
  ...incompleteHistories,
  [
    'finds an overlap also in a history with a gap',
    { historyHasGap: true, history: history('0 a 1 granted', '1 b 2 granted', '2 a 1 releasing') },
    violated(1, 'order a'),
  ],
];

const progress: readonly Row[] = [
  [
    'finds a denial beside a lock that has been free for 500 ms',
    lockFacts(
      '0 A 7 granted, 20 B 8 requested, 90 A 7 releasing, 100 A 7 released, 600 B 8 denied',
    ),
    violated(1, 'user 8 was refused as busy although no other purchase was using the lock'),
  ],
  [
    'allows a lock 500 ms until a waiter notices that it is free',
    lockFacts('0 A 7 granted', '20 B 8 requested', '100 A 7 released', '599 B 8 denied'),
    held,
  ],
  [
    'finds a lost wake-up: a grant 2000 ms after the release',
    lockFacts('0 A 7 granted', '20 B 8 requested', '100 A 7 released', '2100 B 8 granted'),
    violated(1, 'user 8 got the lock 2000 ms after it was free'),
  ],
  [
    'allows a slow grant of a lock that nobody released meanwhile',
    lockFacts('0 A 7 granted', '100 A 7 released', '200 B 8 requested', '2300 B 8 granted'),
    held,
  ],
  [
    'allows a waiter 2000 ms until it has the lock',
    lockFacts('0 A 7 granted', '20 B 8 requested', '100 A 7 released', '2099 B 8 granted'),
    held,
  ],
  [
    'does not count the time for which a waiter was paused',
    lockFacts(
      '0 A 7 granted, 20 B 8 requested, 100 A 7 released, 900 B 8 resumed, 1200 B 8 granted',
    ),
    held,
  ],
  [
    'counts from the answer to the release, and not from its call',
    lockFacts(
      '0 A 7 granted, 20 B 8 requested, 50 A 7 releasing, 300 A 7 released, 700 B 8 denied',
    ),
    held,
  ],
  [
    'does not take a busy MySQL for a lock that was busy',
    { ...lockFacts('0 A 7 granted', '10 A 7 released'), attempts: [refused('8', 'database-busy')] },
    undecided('nobody bought although stock was left; the first answer was: database-busy'),
  ],
  [
    'holds when another order held the lock at the denial',
    lockFacts(
      '0 A 7 granted, 20 B 8 requested, 2020 B 8 denied, 2100 A 7 releasing, 2101 A 7 released',
    ),
    held,
  ],
  [
    'holds when the owner at the denial acquired the lock after others had released it',
    lockFacts(
      '0 A 7 granted, 20 B 8 requested, 30 A 7 released, 1900 C 9 granted, 2020 B 8 denied',
      '2100 C 9 released',
    ),
    held,
  ],
  [
    'finds a denial beside the owner of another resource',
    lockFacts('0 A 7 granted other', '20 B 8 requested', '2020 B 8 denied'),
    violated(1, 'user 8'),
  ],
  [
    'finds a denial of a lock that no order ever held',
    lockFacts('0 B 8 requested', '2000 B 8 denied'),
    violated(1, 'user 8'),
  ],
  [
    'finds a refusal at once of a lock that was free since it was requested',
    lockFacts(
      '0 A 7 requested, 1 A 7 granted, 1000 A 7 releasing, 1001 A 7 released, 1002 B 8 requested',
      '1003 B 8 denied',
    ),
    violated(1, 'user 8 was refused as busy although no other purchase was using the lock'),
  ],
  [
    'finds a refusal at once beside another request that was denied',
    lockFacts('0 A 7 requested', '1 B 8 requested', '2 A 7 denied', '3 B 8 denied'),
    violated(2, 'user 7'),
  ],
  ...(
    [
      ['was released just then', '2 A 7 granted', '399 A 7 releasing', '400 A 7 released'],
      ['may be granted yet: its answer is missing'],
      ['has not released', '2 A 7 granted', '3 A 7 died'],
      ['released without a prompt answer', '2 A 7 granted', '3 A 7 releasing', '300 A 7 released'],
    ] as const
  ).map(
    ([what, ...events]): Row => [
      `allows a refusal at once while the request of another order ${what}`,
      lockFacts('1 A 7 requested', ...events, '400 B 8 requested', '401 B 8 denied'),
      held,
    ],
  ),
  [
    'finds a lost wake-up of a waiter that was paused while the lock was released',
    lockFacts(
      '0 A 7 granted, 20 B 8 requested, 100 A 7 released, 900 B 8 resumed, 2900 B 8 granted',
    ),
    violated(1, 'user 8 got the lock 2000 ms after it was free'),
  ],
  [
    'finds a denial after an owner was answered and forgot the release',
    lockFacts('0 A 7 granted', '20 A 7 accepted', '4000 B 8 requested', '6000 B 8 denied'),
    violated(1, 'user 8'),
  ],
  [
    'finds a denial after the death of the owner',
    lockFacts('0 A 7 granted', '20 A 7 died', '4000 B 8 requested', '6000 B 8 denied'),
    violated(1, 'user 8'),
  ],
  [
    'does not count the section of the order that is denied: it waits for itself',
    lockFacts(
      '0 A 7 requested, 1 A 7 granted, 2 A 7 requested, 2002 A 7 denied, 2003 A 7 refused busy',
    ),
    violated(1, 'user 7'),
  ],
  [
    'measures the wait from the last request of the order, and not from its first',
    lockFacts(
      '0 A 7 requested, 1 A 7 granted, 3000 A 7 requested, 3100 A 7 denied, 3200 A 7 releasing',
    ),
    held,
  ],
  [
    'counts from the latest release, also when that section began first',
    lockFacts(
      '0 A 7 granted, 5 B 8 granted, 20 C 9 requested, 1000 B 8 released, 1900 A 7 died',
      '2002 C 9 denied',
    ),
    held,
  ],
  [
    'counts every denial',
    lockFacts(
      '0 A 7 granted, 10 A 7 died, 20 B 8 requested, 30 C 9 requested, 2020 B 8 denied',
      '2030 C 9 denied',
    ),
    violated(2, 'user 8'),
  ],
  [
    'ignores a denial on a rung without a lock',
    { locked: false, history: history('0 A 7 requested', '2000 A 7 denied') },
    held,
  ],
  [
    'cannot decide when nobody bought although stock was left',
    { ...lockFacts(), attempts: [refused('1', 'lock-service-unavailable')] },
    undecided(
      'nobody bought although stock was left; the first answer was: lock-service-unavailable',
    ),
  ],
  [
    'cannot decide that also without a lock and without a history',
    { ...lockFacts(), locked: false, attempts: [unknown('1')] },
    undecided('nobody bought'),
  ],
  [
    'holds when nobody bought because there was no stock',
    { ...lockFacts(), initialStock: 0, attempts: [refused('1', 'sold-out')] },
    held,
  ],
  [
    'counts a queued order as bought',
    { orders: [], locked: false, redis: { queued: ['a'] } },
    held,
  ],
  ...incompleteHistories,
];

const broken: Partial<FindingText> = { verdict: 'violated' };

const noOversell: readonly Row[] = [
  ['does not count a failed order as sold', { stock: 2, orders: [a, failed] }, held],
  ['finds an order that took no stock', { stock: 2 }, violated(1, 'stock 2 + 2 orders is not 3')],
  ['finds stock that vanished without an order', { stock: 0 }, violated(1, 'stock 0 + 2 orders')],
  [
    'names the first and the worst of several',
    { initialStock: 1, stock: -3 },
    violated(3, '2 orders for 1', 'stock is -3'),
  ],
  ['holds when each unit has its order', { unitOrders: ['b', 'a'] }, held],
  ['finds a unit of an order that does not exist', { unitOrders: ['a', 'b', 'z'] }, broken],
  ['finds an order that has no unit', { unitOrders: ['a'] }, broken],
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

const failedBecause = (reason: string): OrderRow => ({ ...failed, reason });
const noLostOrders: readonly Row[] = [
  [
    'finds a failed order that was replayed for another user',
    {
      orders: [
        { ...failed, ...row('a', '1'), status: 'failed' },
        { ...row('c', '3'), replayOf: 'a' },
      ],
    },
    broken,
  ],
  [
    'accepts an order that failed because its user has another one',
    { orders: [a, failedBecause('user-has-another-order'), row('c', '2')] },
    held,
  ],
  [
    'finds an order that failed because Redis had sold more than there was',
    { initialStock: 1, orders: [a, failedBecause('stock-short')] },
    violated(1, 'failed (stock-short), and no other order explains it'),
  ],
  [
    'finds an order that failed for a lack of stock while some was left',
    { initialStock: 2, orders: [a, failedBecause('stock-short')] },
    violated(1, 'failed (stock-short)'),
  ],
  [
    'finds an order that failed for a reason that no row proves',
    { orders: [a, failed] },
    violated(1, 'order b of user 2 was accepted (request r2) and failed (undeliverable)'),
  ],
  [
    'finds an order that failed for another order which does not exist',
    { orders: [a, failedBecause('user-has-another-order'), row('c', '3')] },
    violated(1, 'no other order explains it'),
  ],
  [
    'waits for an order that is still queued',
    { orders: [a], redis: { queued: ['b'] } },
    undecided('accepted orders are still queued'),
  ],
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
    'finds the replay of an order that nobody requested',
    { orders: [a, b, { ...row('c', '3'), replayOf: 'x' }] },
    violated(1, 'order c of user 3'),
  ],
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
  [
    'waits until nothing is queued',
    { stock: 2, orders: [a], redis: { queued: ['b'] } },
    undecided('orders are still queued'),
  ],
  [
    'waits until the sale has stopped',
    { redis: { isMoving: true } },
    undecided('the sale is running'),
  ],
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
    violated(1, 'MySQL has order b'),
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

/** Attempts with the times when they were sent and answered. */
const soldOut = (userId: string) => refused(userId, 'sold-out');
const bought = (userId: string, orderId: string, sentMs: number, answeredMs = sentMs + 5) =>
  timed(accepted(userId, orderId), sentMs, answeredMs);
const ab = [bought('1', 'a', 0), bought('2', 'b', 20)];
/** Two were sold, then the stock of one, or of both, came back 40 ms after the start. */
const oneFailed = {
  initialStock: 2,
  orders: [a, failed],
  history: history('40 b 2 dead-lettered undeliverable'),
};
const twoFailed = {
  initialStock: 2,
  orders: [{ ...failed, id: 'a', userId: '1' }, failed, row('c', '4')],
  history: history('40 a 1 dead-lettered undeliverable', '40 b 2 dead-lettered undeliverable'),
};

const responsesMatchDatabase: readonly Row[] = [
  [
    'holds when each answer names an order of its own user',
    { attempts: [accepted('1', 'a'), alreadyOrdered('2', 'b')] },
    held,
  ],
  [
    'finds an answer with the order of another user',
    { attempts: [accepted('2', 'a')] },
    violated(1, 'user 2 was answered accepted with order a, which belongs to 1'),
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
    'finds every “sold out” while some were left',
    { attempts: [accepted('1', 'a'), accepted('2', 'b'), soldOut('3'), soldOut('4')] },
    violated(2, 'user 3 was answered sold-out, but at most 2 of 3 could be taken by then'),
  ],
  [
    'counts accepted and unknown attempts as taken, and no others',
    { attempts: [accepted('1', 'a'), accepted('2', 'b'), unknown('3'), soldOut('4')] },
    held,
  ],
  [
    'does not count a refused attempt as taken',
    { attempts: [accepted('1', 'a'), accepted('2', 'b'), refused('3', 'busy'), soldOut('4')] },
    violated(1, 'at most 2 of 3'),
  ],
  [
    'counts an order once that is still queued and recorded already',
    {
      redis: { queued: ['b'] },
      attempts: [accepted('1', 'a'), accepted('2', 'b'), soldOut('3')],
    },
    violated(1, 'at most 2 of 3'),
  ],
  [
    'counts an unknown attempt once that had an effect',
    { attempts: [accepted('1', 'a'), unknown('2'), soldOut('3')] },
    violated(1, 'at most 2 of 3'),
  ],
  [
    'accepts “sold out” from the beginning when there is no stock',
    { initialStock: 0, attempts: [timed(soldOut('3'), 0, 1)] },
    held,
  ],
  [
    'accepts “sold out” once the last purchase had been sent',
    { initialStock: 2, attempts: [...ab, timed(soldOut('3'), 10, 21)] },
    held,
  ],
  [
    'finds “sold out” before the last purchase had been sent',
    { initialStock: 2, attempts: [...ab, timed(soldOut('3'), 10, 19)] },
    violated(2, 'user 3 was answered sold-out, but at most 1 of 2 could be taken by then'),
  ],
  [
    'accepts “sold out” while the stock of a failed order waits',
    { ...oneFailed, attempts: [...ab, timed(soldOut('3'), 2_040, 2_041)] },
    held,
  ],
  [
    'finds “sold out” once the stock of a failed order is for sale',
    { ...oneFailed, attempts: [...ab, timed(soldOut('3'), 2_041, 2_042)] },
    violated(1, 'user 3 was answered sold-out, but at most 2 of 3 could be taken by then'),
  ],
  [
    'finds “sold out” after another purchase got stock that came back, and some is left',
    { ...twoFailed, attempts: [...ab, bought('4', 'c', 50), timed(soldOut('3'), 56, 57)] },
    violated(1, 'user 3 was answered sold-out, but at most 3 of 4 could be taken by then'),
  ],
  [
    'accepts “sold out” while it is not known whether that purchase got it already',
    { ...twoFailed, attempts: [...ab, bought('4', 'c', 50), timed(soldOut('3'), 54, 57)] },
    held,
  ],
  [
    'does not wait for stock that MySQL did not have',
    {
      ...oneFailed,
      orders: [a, failedBecause('stock-short')],
      attempts: [...ab, timed(soldOut('3'), 9_000, 9_001)],
    },
    held,
  ],
  [
    'finds a sale that was requested after “sold out” had been answered',
    {
      initialStock: 2,
      orders: [a, b, row('c', '4')],
      attempts: [...ab, timed(soldOut('3'), 21, 30), bought('4', 'c', 31)],
    },
    violated(1, 'order c of user 4 was requested and accepted after "sold out"'),
  ],
  [
    'accepts a sale that was requested before “sold out” was answered',
    {
      initialStock: 2,
      orders: [a, b, row('c', '4')],
      attempts: [...ab, timed(soldOut('3'), 21, 30), bought('4', 'c', 29, 40)],
    },
    held,
  ],
  [
    'accepts a sale after “sold out” when a failed order gave its stock back',
    {
      initialStock: 2,
      orders: [a, failed, row('c', '4')],
      attempts: [...ab, timed(soldOut('3'), 21, 30), bought('4', 'c', 31)],
    },
    held,
  ],
  [
    'accepts “sold out”, and a sale after it, when an operator added stock',
    {
      ...{ initialStock: 3, stocks: [2, 3], orders: [a, b, row('c', '4')] },
      attempts: [...ab, timed(soldOut('3'), 21, 30), bought('4', 'c', 31)],
    },
    held,
  ],
  [
    'finds “sold out” before the least stock that the voucher had was taken',
    { initialStock: 3, stocks: [2, 3], attempts: [...ab, timed(soldOut('3'), 10, 19)] },
    violated(1, 'user 3 was answered sold-out, but at most 1 of 2 could be taken by then'),
  ],
  [
    'finds a sale after “sold out” although an operator took stock away',
    {
      ...{ initialStock: 2, stocks: [4, 2], orders: [a, b, row('c', '4')] },
      attempts: [...ab, timed(soldOut('3'), 21, 30), bought('4', 'c', 31)],
    },
    violated(1, 'order c of user 4 was requested and accepted after "sold out"'),
  ],
  [
    'finds “already ordered” before the order had been requested',
    { attempts: [...ab, timed(alreadyOrdered('2', 'b'), 5, 19)] },
    violated(1, 'user 2 was answered already-ordered (order b) before that order was requested'),
  ],
  [
    'accepts “already ordered” once the first request of the order had been sent',
    {
      attempts: [
        bought('1', 'a', 0),
        bought('2', 'b', 14),
        timed(alreadyOrdered('2', 'b'), 5, 15),
        bought('2', 'b', 20),
      ],
    },
    held,
  ],
  [
    'accepts “already ordered” beside a request that was repeated after an unknown outcome',
    {
      attempts: [
        bought('1', 'a', 0),
        timed(unknown('2'), 10, 12),
        timed({ ...alreadyOrdered('2', 'b'), requestId: 'another' }, 13, 14),
        bought('2', 'b', 20),
      ],
    },
    held,
  ],
  [
    'accepts a sale that was repeated after “sold out”, and counts it once',
    {
      initialStock: 2,
      attempts: [
        bought('1', 'a', 0),
        timed(unknown('2'), 10, 12),
        timed(soldOut('3'), 13, 14),
        bought('2', 'b', 20),
      ],
    },
    held,
  ],
  [
    'counts a repeated request once as taken',
    { attempts: [...ab, bought('2', 'b', 25), timed(soldOut('3'), 30, 31)] },
    violated(1, 'at most 2 of 3'),
  ],
  [
    'finds a repeated request that was accepted after “sold out” had been answered to itself',
    {
      initialStock: 2,
      orders: [a, b, row('c', '3')],
      attempts: [...ab, timed(soldOut('3'), 21, 30), bought('3', 'c', 31)],
    },
    violated(1, 'order c of user 3 was requested and accepted after "sold out"'),
  ],
  [
    'accepts each answer to a repeated request that the history has, and those of nginx',
    {
      history: history('5 a 1 refused not-ready', '6 a 1 accepted', '7 b 2 accepted'),
      attempts: [
        refused('1', 'not-ready'),
        accepted('1', 'a'),
        { ...refused('2', 'not-ready'), instance: 'nginx' },
        accepted('2', 'b'),
      ],
    },
    held,
  ],
  [
    'accepts a refusal from before the sale, which the history does not have',
    {
      history: history('5 a 1 accepted', '7 b 2 accepted'),
      attempts: [timed(refused('1', 'not-ready'), 1, 3), bought('1', 'a', 4), accepted('2', 'b')],
    },
    held,
  ],
  [
    'finds an answer that only the outcome of another try agrees with',
    {
      history: history('2 a 1 accepted', '6 a 1 refused busy', '7 b 2 accepted'),
      attempts: [timed(refused('1', 'busy'), 1, 3), accepted('2', 'b')],
    },
    violated(1, 'request r1 was answered refused, and the history says accepted (order a)'),
  ],
  [
    'finds an acceptance that only an earlier try has an event for',
    {
      history: history('2 a 1 refused busy', '7 b 2 accepted'),
      attempts: [timed(refused('1', 'busy'), 1, 3), bought('1', 'a', 4), accepted('2', 'b')],
    },
    violated(1, 'request r1 was answered accepted (order a), and the history says nothing'),
  ],
  [
    'accepts a refusal of one instance while another one accepts the same request',
    {
      history: history('5 a 1 accepted', '7 b 2 accepted'),
      attempts: [
        { ...timed(refused('1', 'not-ready'), 4, 6), instance: 'api-2' },
        timed(accepted('1', 'a'), 1, 8),
        accepted('2', 'b'),
      ],
    },
    held,
  ],
  [
    'finds a refusal that only another instance agrees with',
    {
      history: history('5 a 1 accepted', '5 a 1 refused busy', '7 b 2 accepted').map(
        (event, index) => (index === 0 ? { ...event, instance: 'api-2' } : event),
      ),
      attempts: [{ ...timed(refused('1', 'busy'), 4, 6), instance: 'api-2' }, accepted('2', 'b')],
    },
    violated(1, 'request r1 was answered refused, and the history says accepted (order a)'),
  ],
  [
    'finds an answer that differs from the outcome in the history',
    { history: history('5 a 1 refused busy', '6 b 2 accepted') },
    violated(1, 'request r1 was answered accepted (order a), and the history says refused'),
  ],
  [
    'finds two orders that the history gives to the other request',
    { history: history('5 b 1 accepted', '6 a 2 accepted') },
    violated(
      2,
      'request r1 was answered accepted (order a), and the history says accepted (order b',
    ),
  ],
  [
    'accepts an unknown attempt whatever the history says',
    {
      history: history('5 a 1 accepted', '6 b 2 accepted'),
      attempts: [accepted('1', 'a'), unknown('2')],
    },
    held,
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
    test('has a row for each verdict that facts can bring about', () => {
      const verdicts = rows.map(([, , { verdict }]) => verdict);
      expect(verdicts).toEqual(expect.arrayContaining(['held', 'violated']));
    });

    test.each(rows)('%s', (_, given, expected) => {
      expect(audit(facts(given)).findings).toContainEqual(
        expect.objectContaining({ check, ...expected }),
      );
    });
  });

test('an order that was dead-lettered and replayed, twice, is neither lost nor a phantom', () => {
  const failed = { status: 'failed', reason: 'undeliverable' } as const;
  const orders = [
    { ...row('a', '1'), ...failed },
    row('b', '2'),
    { ...row('c', '1'), ...failed, replayOf: 'a' },
    { ...row('d', '1'), replayOf: 'c' },
  ];
  const sale = facts({ orders, redis: { buyers: { 1: 'd', 2: 'b' } } });
  const results = audit({ ...sale, locked: false }).findings;
  for (const name of ['no-lost-orders', 'no-phantom-orders', 'redis-matches-mysql'])
    expect(results.find(({ check }) => check === name)).toMatchObject({ verdict: 'held' });
});

describe('the audit as a whole', () => {
  test('holds for a whole sale without a fault, and skips no check', () => {
    const attempts = [
      timed(accepted('1', 'a'), 0, 10),
      timed(accepted('2', 'b'), 1, 11),
      { ...timed(alreadyOrdered('1', 'a'), 12, 13), requestId: 'again' },
    ];
    const events = history(
      '0 a 1 requested, 1 a 1 granted, 2 a 1 accepted, 3 a 1 releasing, 4 b 2 requested',
      '5 b 2 granted, 6 b 2 accepted, 7 b 2 releasing',
    );
    const sale = facts({ attempts, history: events });
    expect(audit(sale)).toMatchObject({ verdict: 'held', skipped: [] });
  });

  test('runs every check that has a file, each once', () => {
    const files = readdirSync(new URL('../../src/service/audit/checks', import.meta.url));
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
      'redis-matches-mysql': 'Redis keeps no stock of this sale',
      'responses-match-database': 'the answers of the clients were not kept',
      'mutual-exclusion': 'no history was kept',
      progress: 'neither answers nor history were kept',
    });
  });

  test('compares the stock alone where Redis keeps no buyers', () => {
    const matches = (inRedis: number) =>
      audit({ ...facts(), redis: { stock: inRedis, queued: [] } }).findings.find(
        ({ check }) => check === 'redis-matches-mysql',
      );
    expect(matches(1)).toMatchObject(held);
    expect(matches(0)).toMatchObject(violated(1, 'the stock is 0 in Redis and 1 in MySQL'));
  });

  test('skips mutual exclusion on a rung without a lock', () => {
    const overlap = history('0 A 7 granted', '1 B 7 granted');
    const { findings, skipped } = audit(facts({ locked: false, history: overlap }));
    const why = 'this rung has no lock that should exclude others';
    expect(skipped).toEqual([{ check: 'mutual-exclusion', why }]);
    expect(findings.map(({ check }) => check)).not.toContain('mutual-exclusion');
  });

  test('judges progress from the answers alone, when no history was kept', () => {
    const { history: _, ...known } = facts();
    expect(audit(known).findings).toContainEqual({ check: 'progress', ...held });
  });

  test.each(checks)('never takes a crash of the check $name for a pass', (check) => {
    const cases = () => {
      throw new TypeError('not iterable');
    };
    expect(judge({ ...check, cases }, facts())).toEqual({
      check: check.name,
      verdict: 'unknown',
      count: 0,
      first: ['check-failed', 'TypeError: not iterable'],
    });
  });
});
