/** What the drill of the queues counts, from facts by hand; and what it plays. */
import { expect, test } from 'vitest';
import type { Attempt, Facts } from '../../src/audit/facts.ts';
import { hops, queueRungs } from '../../src/lab/drills/accepted-is-not-sold.ts';
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
