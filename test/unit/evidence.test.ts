/** What proves a violation: the two purchases that should not both have happened, and nothing about anybody else. */
import { describe, expect, test } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import { counterExamples, nobodyCanBuy } from '../../src/audit/evidence.ts';
import type { Facts } from '../../src/audit/facts.ts';
import { proofText } from '../../src/lab/report/sentences.ts';
import type { HistoryEvent } from '../../src/trace/history.ts';

/** `A 7 after-check` is order A of user 7 passing that checkpoint; in this order, a millisecond apart. */
function happened(...lines: string[]): HistoryEvent[] {
  return lines.map((line, index) => {
    const [orderId = '', userId = '', what = '', reason] = line.split(' ');
    const checkpoints = ['after-check', 'stock-taken', 'before-commit'];
    const event = checkpoints.includes(what)
      ? { event: 'checkpoint', checkpoint: what }
      : { event: what, resource: 'lock', ...(reason && { reason }) };
    return {
      at: String(index * 1e6),
      instance: 'api-1',
      voucherId: '9',
      orderId,
      userId,
      ...event,
    } as HistoryEvent;
  });
}

const told = (
  facts: Partial<Facts> & { sold: readonly [id: string, userId: string][]; stock: number },
) => {
  const { sold, stock, ...rest } = facts;
  const orders = sold.map(
    ([id, userId]) => ({ id, userId, status: 'confirmed', reason: null }) as const,
  );
  const base = {
    voucherId: '9',
    createdAt: '',
    rung: 'any',
    onePerUser: true,
    locked: true,
    initialStock: 3,
  };
  const all: Facts = { ...base, ...rest, mysql: { stock, orders } };
  return counterExamples(audit(all), all).map(({ check, events, rows }) => ({
    check,
    events: events.map(({ orderId, checkpoint, event }) => `${orderId} ${checkpoint ?? event}`),
    rows: rows.map(({ id }) => id),
  }));
};

describe('a violation is proven', () => {
  test('of two orders of one user: by both looks, both answers and both rows', () => {
    const history = happened(
      'A 7 after-check',
      'C 8 after-check',
      'B 7 after-check',
      'B 7 before-commit',
      'C 8 accepted',
      'A 7 accepted',
      'B 7 accepted',
    );
    expect(
      told({
        sold: [
          ['A', '7'],
          ['B', '7'],
          ['C', '8'],
        ],
        stock: 0,
        history,
      }),
    ).toEqual([
      {
        check: 'one-order-per-user',
        events: ['A after-check', 'B after-check', 'A accepted', 'B accepted'],
        rows: ['A', 'B'],
      },
    ]);
  });

  test('of a lost update: by two that looked before either was told, not by those who came alone', () => {
    const history = happened(
      'A 1 after-check',
      'A 1 accepted',
      'B 2 after-check',
      'C 3 after-check',
      'B 2 accepted',
      'C 3 accepted',
    );
    expect(
      told({
        sold: [
          ['A', '1'],
          ['B', '2'],
          ['C', '3'],
        ],
        stock: 1,
        history,
      }),
    ).toEqual([
      {
        check: 'no-oversell',
        events: ['B after-check', 'C after-check', 'B accepted', 'C accepted'],
        rows: ['B', 'C'],
      },
    ]);
  });

  test('of stock that is gone: by the one who took it and died', () => {
    const history = happened(
      'A 1 granted',
      'A 1 stock-taken',
      'B 2 granted',
      'B 2 stock-taken',
      'B 2 accepted',
      'B 2 left',
      'A 1 died',
    );
    expect(told({ sold: [['B', '2']], stock: 1, history, locked: false })).toEqual([
      { check: 'no-oversell', events: ['A stock-taken', 'A died'], rows: [] },
    ]);
  });

  test('of two critical sections at once: by who went in and out when', () => {
    const history = happened(
      'A 1 granted',
      'A 1 after-check',
      'B 1 granted',
      'A 1 left',
      'B 1 left',
      'C 1 granted',
      'C 1 left',
    );
    expect(told({ sold: [], stock: 3, history })).toEqual([
      {
        check: 'sections-never-overlap',
        events: ['A granted', 'B granted', 'A left', 'B left'],
        rows: [],
      },
    ]);
  });

  test('of a lost order: by what was said of it', () => {
    const history = happened('A 1 after-check', 'A 1 accepted');
    const attempts = [
      { userId: '1', requestId: 'r', outcome: 'accepted', orderId: 'A', latencyMs: 1 },
    ] as const;
    expect(told({ sold: [], stock: 3, history, attempts })).toEqual([
      { check: 'accepted-orders-exist', events: ['A accepted'], rows: [] },
    ]);
  });

  test('of a lock that nobody gets: by the refusal, and by who had it before', () => {
    const history = happened(
      'A 7 granted',
      'B 8 granted',
      'A 7 died',
      'C 7 refused busy',
      'D 7 granted',
    );
    const { events } = nobodyCanBuy({ history } as unknown as Facts);
    expect(events.map(({ orderId, event }) => `${orderId} ${event}`)).toEqual([
      'A granted',
      'A died',
      'C refused',
    ]);
  });
});

test('a dead holder is not in its section any more, and one who enters again does not meet himself', () => {
  const history = happened(
    'A 1 granted',
    'A 1 died',
    'B 1 granted',
    'B 1 granted',
    'B 1 left',
    'B 1 left',
  );
  expect(told({ sold: [], stock: 3, history })).toEqual([]);
});

test('a proof is told in lines that fit the terminal, by the time since its first event', () => {
  const events = happened('A 7 after-check', 'B 7 after-check');
  const rows = [{ id: 'A', userId: '7', status: 'confirmed', reason: null } as const];
  expect(proofText({ check: 'one-order-per-user', events, rows })).toEqual([
    '',
    'what proves that one-order-per-user is violated:',
    '       0.0 ms  api-1  after-check user 7, order A',
    '       1.0 ms  api-1  after-check user 7, order B',
    '             in MySQL confirmed   user 7, order A',
  ]);
  expect(proofText({ check: 'one-order-per-user', events: [], rows: [] })).toEqual([]);
});
