/** The checks of the audit, on facts written by hand: what each lets pass, catches, and cannot tell. */
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { audit, worstOf } from '../../src/audit/audit.ts';
import type { Attempt, Facts, OrderRow } from '../../src/audit/facts.ts';
import { type Finding, find } from '../../src/audit/finding.ts';
import type { HistoryEvent } from '../../src/trace/history.ts';

const row = (id: string, userId: string): OrderRow => ({
  id,
  userId,
  status: 'confirmed',
  reason: null,
});
const told = (userId: string, rest: Pick<Attempt, 'outcome' | 'orderId' | 'reason'>): Attempt => ({
  ...{ userId, requestId: `r${userId}`, latencyMs: 1, ...rest },
});
const yes = (userId: string, orderId: string) => told(userId, { outcome: 'accepted', orderId });
const no = (userId: string, reason: string) => told(userId, { outcome: 'refused', reason });
const unsure = (userId: string) => told(userId, { outcome: 'unknown' });
const already = (userId: string, orderId: string) => ({
  ...no(userId, 'already-ordered'),
  orderId,
});

const [a, b] = [row('a', '1'), row('b', '2')];
const failed: OrderRow = { ...b, status: 'failed', reason: 'undeliverable' };
type Given = Partial<
  Omit<Facts, 'mysql' | 'redis'> & Facts['mysql'] & { redis: Partial<Facts['redis']> }
>;

/** A sale without a flaw (two of three sold, by Redis and by MySQL, both accepted) but for what is given. */
function facts({ stock = 1, orders = [a, b], redis = {}, ...given }: Given): Facts {
  return {
    ...{
      voucherId: '9',
      createdAt: '',
      rung: 'lua-stream',
      onePerUser: true,
      locked: true,
      initialStock: 3,
    },
    ...{
      attempts: [yes('1', 'a'), yes('2', 'b')],
      history: [],
      ...given,
      mysql: { stock, orders },
    },
    redis: { stock: 1, buyers: { 1: 'a', 2: 'b' }, queued: [], ...redis },
  };
}

/** One line of a history: `granted 10 A lock` is order A, at 10 ns, on that resource. */
const happened = (...lines: string[]): HistoryEvent[] =>
  lines.map((line) => {
    const [event, at = '', orderId = '', resource = 'lock'] = line.split(' ');
    return {
      event: event as HistoryEvent['event'],
      at,
      orderId,
      resource,
      instance: 'api-1',
      voucherId: '9',
      userId: '7',
    };
  });

type Row = readonly [says: string, given: Given, expected: Partial<Finding>];
const held = { verdict: 'held', count: 0 } as const;
const unknown = { verdict: 'unknown', count: 0 } as const;
const violated = (count: number, first: string, worst = first): Partial<Finding> => {
  const [one, other] = [first, worst].map((part) => expect.stringContaining(part));
  return { verdict: 'violated', count, first: one, worst: other };
};

// biome-ignore format: a table, one property to a line
const table: Record<Finding['check'], readonly Row[]> = {
  'sections-never-overlap': [
    ['holds when each leaves before the next enters', { history: happened('granted 1 A', 'left 2 A', 'granted 3 B', 'left 4 B') }, held],
    ['lets sections of different resources overlap', { history: happened('granted 1 A one', 'granted 2 B two', 'left 3 A one', 'left 4 B two') }, held],
    ['catches one that enters before the other has left', { history: happened('granted 1 A', 'granted 2 B', 'left 3 A', 'left 4 B') }, violated(1, 'order A on api-1')],
    ['takes one that never left for one that is still inside', { history: happened('granted 1 A', 'granted 9 B', 'left 10 B') }, violated(1, 'order B')],
    ['compares with the one inside longest, and not with the last alone', { history: happened('granted 1 A', 'granted 2 B', 'left 3 B', 'granted 4 C', 'left 5 C', 'left 9 A') }, violated(2, 'order B', 'order B')],
  ],
  'no-oversell': [
    ['does not count a failed order as sold', { stock: 2, orders: [a, failed] }, held],
    ['catches an order that took no stock', { stock: 2 }, violated(1, 'stock 2 + 2 orders is not 3')],
    ['catches stock that vanished without an order', { stock: 0 }, violated(1, 'stock 0 + 2 orders')],
    ['tells the worst of several', { initialStock: 1, stock: -3 }, violated(3, '2 orders for 1', 'stock is -3')],
  ],
  'one-order-per-user': [
    ['lets a user buy again after a failed order', { orders: [a, failed, row('c', '2')] }, held],
    ['catches every user with more, and names the one with most', { orders: [a, row('b', '1'), ...['c', 'd', 'e'].map((id) => row(id, '2')), row('f', '3')] },
      violated(2, 'user 1 has 2 orders: a, b', 'user 2 has 3 orders: c, d, e')],
  ],
  'accepted-orders-exist': [
    ['takes a failed order with its reason for an answer', { orders: [a, failed] }, held],
    ['waits for an order that is still queued', { orders: [a], redis: { queued: ['b'] } }, unknown],
    ['catches a lost order', { orders: [a] }, violated(1, 'user 2 was told that order b is accepted (request r2)')],
    ['catches a lost one beside a queued one', { orders: [], redis: { queued: ['a'] } }, violated(1, 'order b')],
    ['catches an accepted attempt that names no order', { attempts: [told('1', { outcome: 'accepted' })] }, violated(1, 'user 1')],
  ],
  'no-order-unasked': [
    ['holds when an attempt of unknown outcome turns out applied', { attempts: [yes('1', 'a'), unsure('2')] }, held],
    ['explains one order with one unknown attempt, not two', { orders: [a, b, row('c', '2')], attempts: [yes('1', 'a'), unsure('2')] }, violated(1, 'order c of user 2')],
    ['does not explain an order with another user’s attempt', { attempts: [yes('1', 'a'), unsure('3')] }, violated(1, 'order b of user 2')],
    ['catches an order whose attempt was refused', { attempts: [yes('1', 'a'), no('2', 'busy')] }, violated(1, 'order b')],
  ],
  'redis-agrees': [
    ['waits until nothing is queued', { stock: 2, orders: [a], redis: { queued: ['b'] } }, unknown],
    ['holds when a failed order was given back', { stock: 2, orders: [a, failed], redis: { stock: 2, buyers: { 1: 'a' } } }, held],
    ['catches a failed order that was not given back', { orders: [a, failed] }, violated(1, 'sold order b to user 2')],
    ['does not excuse a Redis that has lost the voucher', { redis: { stock: null, buyers: {} } }, violated(3, 'lost the voucher')],
    ['does not take a lost voucher for a sold-out one', { initialStock: 2, stock: 0, redis: { stock: null } }, violated(1, 'lost the voucher')],
    ['catches a buyer whose order is another one', { redis: { buyers: { 1: 'a', 2: 'x' } } }, violated(1, 'MySQL has b')],
    ['catches an order whose user is no buyer', { redis: { stock: 3, buyers: { 1: 'a' } } }, violated(2, 'Redis has 3 left, MySQL 1')],
  ],
  'order-ids-unique': [
    ['holds when the same request is told its order twice', { attempts: [yes('1', 'a'), yes('1', 'a')] }, held],
    ['catches one id for two users', { attempts: [yes('1', 'a'), yes('2', 'a')] }, violated(1, 'order a means user 1')],
    ['catches one id for two rows', { orders: [a, b, row('b', '3')] }, violated(1, 'order b stands 2 times')],
  ],
  'clients-were-told-the-truth': [
    ['holds when each was told of an order of their own', { attempts: [yes('1', 'a'), already('2', 'b')] }, held],
    ['catches an order that is another user’s', { attempts: [yes('2', 'a')] }, violated(1, 'user 2 was told accepted with order a, which is user 1')],
    ['catches “already ordered” without an order', { attempts: [no('1', 'already-ordered')] }, violated(1, 'user 1')],
    ['catches “already ordered” with an order that does not exist', { attempts: [already('3', 'x')] }, violated(1, 'user 3')],
    ['does not call an order that is still queued a lie', { orders: [a], redis: { queued: ['b'] } }, { count: 0 }],
    ['catches “sold out” while some were left', { attempts: [no('3', 'sold-out'), no('4', 'sold-out')] }, violated(1, '2 were told sold-out, but only 2 of 3')],
    ['counts failed, queued and unknown ones as taken', { initialStock: 4, orders: [a, failed], redis: { queued: ['c'] }, attempts: [yes('1', 'a'), yes('2', 'b'), yes('3', 'c'), unsure('4'), no('5', 'sold-out')] }, held],
    ['counts an order once that is still queued and recorded already', { redis: { queued: ['b'] }, attempts: [yes('1', 'a'), yes('2', 'b'), no('3', 'sold-out')] }, violated(1, 'only 2 of 3')],
    ['counts an unknown attempt that turned out applied once', { attempts: [yes('1', 'a'), unsure('2'), no('3', 'sold-out')] }, violated(1, 'only 2 of 3')],
  ],
};

for (const [check, rows] of Object.entries(table))
  describe(check, () => {
    test.each(rows)('%s', (_, given, expected) => {
      expect(audit(facts(given)).findings).toContainEqual(
        expect.objectContaining({ check, ...expected }),
      );
    });
  });

describe('the audit as a whole', () => {
  test('runs every check there is a file for', () => {
    const files = readdirSync(new URL('../../src/audit/checks', import.meta.url));
    const ran = audit(facts({})).findings.map(({ check }) => `${check}.ts`);
    expect(ran.sort()).toEqual(files.sort());
  });

  test('is as bad as its worst finding, and a violation is worse than not knowing', () => {
    expect(worstOf(['held', 'unknown', 'violated', 'held'])).toBe('violated');
    expect(audit(facts({ orders: [a], redis: { queued: ['b'] } })).verdict).toBe('violated');
    expect(audit(facts({ stock: 2, orders: [a], redis: { queued: ['b'] } })).verdict).toBe(
      'unknown',
    );
    expect(audit(facts({})).verdict).toBe('held');
  });

  test('leaves out what cannot be judged, and says why', () => {
    const {
      redis: _,
      attempts: __,
      history: ___,
      ...known
    } = facts({ rung: 'read-then-write', onePerUser: false });
    const { findings, leftOut } = audit(known);
    expect(findings.map(({ check }) => check)).toEqual(['no-oversell', 'order-ids-unique']);
    expect(leftOut).toContainEqual({
      check: 'one-order-per-user',
      why: 'this rung does not promise it',
    });
    expect(leftOut).toContainEqual({
      check: 'redis-agrees',
      why: 'this rung keeps no stock in Redis',
    });
    expect(leftOut.filter(({ why }) => why === 'what clients were told was not kept')).toHaveLength(
      3,
    );
  });

  test('never takes a check that crashed for a pass', () => {
    const crash = () => {
      throw new TypeError('not iterable');
    };
    const finding = find('no-oversell', crash, facts({}));
    expect(finding).toMatchObject({
      verdict: 'unknown',
      first: expect.stringContaining('not iterable'),
    });
  });
});
