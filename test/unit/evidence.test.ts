/** The proof of a violation: the two purchases that should not both have happened, and no other. */
import { describe, expect, test } from 'vitest';
import { proofText } from '../../src/lab/report/sentences.ts';
import { audit, proofOf, proofsOf } from '../../src/service/audit/audit.ts';
import type { Facts } from '../../src/service/audit/facts.ts';
import { accepted, facts, type Given, history, row } from './facts.ts';

/** The proofs of every violation of a sale without Redis, in short. */
function proofs(given: Given) {
  const { redis: _, attempts: __, ...known } = facts(given);
  const judged: Facts = { ...known, ...(given.attempts && { attempts: given.attempts }) };
  return proofsOf(audit(judged), judged).map(({ check, events, rows }) => {
    const said = events.map(
      ({ orderId, checkpoint, event }) => `${orderId} ${checkpoint ?? event}`,
    );
    return `${check}: ${[...said, ...rows.map(({ id }) => `row ${id}`)].join(', ')}`;
  });
}

/** Nobody bought: what is wrong is the locks, or an answer. */
const unsold = (...lines: string[]): Given => ({
  ...{ orders: [], stock: 3 },
  history: history(...lines),
});

const threeOrders = [row('A', '1'), row('B', '2'), row('C', '3')];
/** Two of three checked together, and two users bought. */
const lostUpdate = {
  ...{ orders: [row('A', '1'), row('B', '1'), row('C', '3')], stock: 1, onePerUser: false },
  history: history('0 A 1 after-check', '1 B 1 after-check', '2 C 3 after-check'),
};

describe('the proof', () => {
  const violations: Readonly<Record<string, [given: Given, proof: string]>> = {
    'two orders of one user has both checks, both answers and both rows': [
      {
        ...{ orders: [row('A', '7'), row('B', '7'), row('C', '8')], stock: 0 },
        history: history(
          '0 A 7 after-check, 1 C 8 after-check, 2 B 7 after-check, 3 B 7 before-commit',
          '4 C 8 accepted, 5 A 7 accepted, 6 B 7 accepted',
        ),
      },
      'one-order-per-user: A after-check, B after-check, A accepted, B accepted, row A, row B',
    ],
    'a lost update has two users, where two of them checked together': [
      lostUpdate,
      'no-oversell: A after-check, C after-check, row A, row C',
    ],
    'a lost update by one user has two orders': [
      { ...lostUpdate, history: lostUpdate.history.slice(0, 2) },
      'no-oversell: A after-check, B after-check, row A, row B',
    ],
    'a lost update has the two that both checked before either was answered': [
      {
        ...{ orders: threeOrders, stock: 1 },
        history: history(
          '0 A 1 after-check, 1 A 1 accepted, 2 B 2 after-check, 3 C 3 after-check, 4 B 2 accepted',
          '5 C 3 accepted',
        ),
      },
      'no-oversell: B after-check, C after-check, B accepted, C accepted, row B, row C',
    ],
    'missing stock has the order that took it and died': [
      {
        ...{ orders: [row('B', '2')], stock: 1, locked: false },
        history: history(
          '0 A 1 granted, 1 A 1 stock-taken, 2 B 2 granted, 3 B 2 stock-taken, 4 B 2 accepted',
          '5 B 2 releasing, 6 A 1 died',
        ),
      },
      'no-oversell: A stock-taken, A died',
    ],
    'two overlapping sections has their grants and their releases': [
      unsold(
        ...['0 A 1 granted', '1 A 1 after-check', '2 B 1 granted', '3 A 1 releasing'],
        ...['4 A 1 released', '5 B 1 releasing', '6 C 1 granted', '7 C 1 releasing'],
      ),
      'mutual-exclusion: A granted, B granted, A releasing, B releasing',
    ],
    'a lost order has its answer': [
      { ...unsold('0 A 1 after-check', '1 A 1 accepted'), attempts: [accepted('1', 'A')] },
      'no-lost-orders: A accepted',
    ],
    'a lock that nobody can acquire has the denial, and the last owner before it': [
      unsold(
        ...['0 Z 7 granted user-7', '1 Z 7 releasing user-7', '2 Z 7 released user-7'],
        ...['3 A 7 granted user-7', '4 B 8 granted user-8', '5 A 7 died user-7'],
        ...['100 C 7 requested user-7', '2100 C 7 denied user-7', '2101 C 7 refused busy'],
        ...['2102 D 7 granted user-7', '2103 D 7 releasing user-7'],
      ),
      'progress: A granted, A died, C requested, C denied',
    ],
    'a lock that a dead waiter blocks has the owner, the waiter and the denial': [
      unsold(
        ...['0 A 7 requested', '1 A 7 granted', '10 B 7 requested', '20 B 7 died'],
        ...['30 A 7 releasing', '31 A 7 released', '100 C 7 requested', '2100 C 7 denied'],
      ),
      'progress: A requested, A granted, B requested, B died, A releasing, C requested, C denied',
    ],
    'an id that two orders share has every row of it': [
      { orders: [row('A', '1'), row('A', '2'), row('B', '3')], stock: 0 },
      'order-ids-unique: row A, row A',
    ],
  };

  test.each(Object.entries(violations))('of %s', (_, [given, proof]) => {
    expect(proofs(given)).toEqual([proof]);
  });

  test('is none of a dead owner, who is outside, nor of one that re-enters', () => {
    const ended = ['0 A 1 granted', '1 A 1 died', '2 B 1 granted', '3 B 1 granted'];
    expect(proofs(unsold(...ended, '4 B 1 releasing', '5 B 1 releasing'))).toEqual([]);
  });

  test('of a finding without orders is empty', () => {
    const finding = { check: 'no-oversell', verdict: 'violated', count: 1 } as const;
    const proof = proofOf(finding, facts({ history: history('0 a 1 accepted') }));
    expect(proof).toEqual({ check: 'no-oversell', events: [], rows: [] });
    expect(proofText(proof)).toEqual([]);
  });

  test('is printed with the time since its first event', () => {
    const events = history('5 A 7 after-check', '6 B 7 refused sold-out', '7 B 7 releasing');
    expect(proofText({ check: 'one-order-per-user', events, rows: [row('A', '7')] })).toEqual([
      '',
      'the proof that one-order-per-user is violated:',
      '       0.0 ms  api-1  after-check user 7, order A',
      '       1.0 ms  api-1  sold-out    user 7, order B',
      '       2.0 ms  api-1  releasing   user 7, order B',
      '             in MySQL confirmed   user 7, order A',
    ]);
  });
});
