/** What the drill of the queues counts, from facts by hand; and what it plays. */
import { describe, expect, test } from 'vitest';
import type { Attempt, Facts } from '../../src/audit/facts.ts';
import type { Verdict } from '../../src/domain.ts';
import {
  type HopPlay,
  hops,
  judgeHops,
  queueRungs,
} from '../../src/lab/drills/accepted-is-not-sold.ts';
import { countHop } from '../../src/lab/drills/hops.ts';
import type { HistoryEvent } from '../../src/trace/history.ts';

const told = (userId: string, outcome: Attempt['outcome'] = 'accepted'): Attempt => ({
  ...{ userId, outcome, requestId: userId, orderId: userId, latencyMs: 1 },
});
const row = (id: string, userId: string) =>
  ({ id, userId, status: 'confirmed', reason: null }) as const;
const recorded = (at: string): HistoryEvent => ({
  ...{ at, event: 'recorded', instance: 'w', voucherId: '9' },
  ...{ userId: '1', orderId: '1', requestId: '1' },
});

const facts: Facts = {
  ...{ voucherId: '9', createdAt: '', rung: 'redis-list', onePerUser: true, locked: false },
  initialStock: 9,
  mysql: { stock: 6, orders: [row('1', '1'), row('2', '2'), row('3', '2')] },
  redis: { stock: 5, buyers: { 1: '1', 2: '2', 3: '3', 4: '4' }, queued: [] },
  attempts: [told('1'), told('2'), told('3'), told('4', 'unknown'), told('5', 'refused')],
};

test('counts accepted orders by how often MySQL has them, and the users who are stuck', () => {
  expect(countHop(facts, 0n)).toEqual({
    ...{ accepted: 3, once: 1, twice: 1, never: 1, stuck: 2, seconds: null },
  });
});

test('counts the seconds from the fault to the last order, when all are recorded', () => {
  const { redis: _, ...rest } = facts;
  const complete = {
    ...rest,
    attempts: [told('1'), told('2')],
    history: [recorded('1000000000'), recorded('4500000000')],
  };
  expect(countHop(complete, 2_000_000_000n).seconds).toBe(2.5);
  expect(countHop(complete, 9_000_000_000n).seconds).toBe(0);
});

test('plays every hop on every queue that a rush does not break', () => {
  expect(hops).toHaveLength(9);
  const expected = ['memory', 'redis-list', 'redis-pubsub', 'rabbitmq', 'lua-stream'];
  expect(queueRungs).toEqual(expect.arrayContaining(expected));
  expect(queueRungs).not.toContain('redis-commands');
});

describe('the verdict over all cells', () => {
  const cell = (verdict: Verdict, claim: Verdict): HopPlay => ({
    race: {
      ...{ race: 'worker-dies', title: '', rung: 'redis-list', shows: 'no-lost-orders' },
      ...{
        verdict,
        claim,
        asClaimed: verdict === claim,
        steps: [],
        isSlow: false,
        stops: [],
        facts,
      },
      evidence: 'order 3 does not exist',
      ...{ waitsFor: 'store', alsoBroken: [] },
    },
    hop: {
      ...{ rung: 'redis-list', hop: 'worker-dies', asClaimed: verdict === claim },
      ...{ accepted: 1, once: 0, twice: 0, never: 1, stuck: 1, seconds: null },
    },
  });

  test('is held when what was claimed has shown, and says what that was', () => {
    const result = judgeHops([cell('violated', 'violated'), cell('held', 'held')]);
    expect(result).toMatchObject({ verdict: 'held', reasons: [], facts: [] });
    expect(result.asClaimed).toEqual(['worker-dies on redis-list: order 3 does not exist']);
    expect(result.figures).toMatchObject({ hopsPlayed: 2, accepted: 2, neverRecorded: 2 });
  });

  test.each([
    ['violated', 'an order is lost that its row keeps', cell('violated', 'held')],
    ['violated', 'a claimed loss does not show', cell('held', 'violated')],
    ['unknown', 'a cell cannot tell', cell('unknown', 'held')],
  ] as const)('is %s when %s', (verdict, _, wrong) => {
    const result = judgeHops([cell('held', 'held'), wrong]);
    expect(result).toMatchObject({ verdict, facts: [facts] });
    expect(result.reasons).toEqual([expect.stringContaining('the ladder claims')]);
  });
});
