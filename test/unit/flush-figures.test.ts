/** The verdict about a FLUSHALL in a rush: what was lost is claimed, and nothing else may break. */
import { expect, test } from 'vitest';
import type { Attempt, Facts } from '../../src/audit/facts.ts';
import { type FlushSeen, judgeFlush } from '../../src/lab/drills/flush-figures.ts';
import { facts } from './facts.ts';

const attempt = (userId: string, orderId: string, at: number, more: Partial<Attempt> = {}) => ({
  ...{ userId, orderId, requestId: `r-${userId}-${at}`, outcome: 'accepted' as const },
  ...{ latencyMs: 1, sentAt: String(at), answeredAt: String(at + 1), ...more },
});
const refusedAt = (at: number): Attempt => ({
  ...{ userId: '9', requestId: `r-9-${at}`, outcome: 'refused', reason: 'not-ready' },
  ...{ latencyMs: 1, sentAt: String(at), answeredAt: String(at + 1) },
});
const row = (id: string, userId: string) =>
  ({ id, userId, status: 'confirmed', reason: null }) as const;

/** Three in stock; order 12 was lost in the flush at 100, and its unit was sold again. */
function seen(changes: Partial<Facts> = {}, times: Partial<FlushSeen> = {}): FlushSeen {
  const orders = [row('11', '1'), row('13', '3'), row('14', '4')];
  const attempts = [
    attempt('1', '11', 10),
    attempt('2', '12', 20),
    refusedAt(150),
    attempt('3', '13', 310),
    attempt('4', '14', 320),
  ];
  const sale = { ...facts({ orders, attempts }), locked: false, initialStock: 3 };
  const buyers = { '1': '11', '3': '13', '4': '14' };
  const redis = { stock: 0, buyers, queued: [] };
  return {
    facts: { ...sale, mysql: { stock: 0, orders }, redis, ...changes },
    ...{ flushAt: 100n, flushedAt: 110n, rebuildAt: 200n, rebuiltAt: 300n },
    isConsistent: true,
    ...times,
  };
}
/** As order 13, but while Redis was empty. */
const early = attempt('3', '13', 150);
const attemptsOf = ({ facts: { attempts = [] } }: FlushSeen) => [...attempts];

test('an order that was lost in the flush is counted and claimed, and all else held', () => {
  const result = judgeFlush(seen());
  expect(result).toMatchObject({ verdict: 'held', reasons: [] });
  expect(result.figures).toMatchObject({ accepted: 4, recorded: 3, lostAccepted: 1, oversold: 0 });
  expect(result.asClaimed).toHaveLength(1);
});

test.each<[string, FlushSeen, string]>([
  [
    'an order that is lost after the rebuild',
    seen({ attempts: [...attemptsOf(seen()), attempt('5', '15', 330)] }),
    '1 orders are lost that were accepted after the rebuild',
  ],
  [
    'a sale before the rebuild',
    seen({ attempts: attemptsOf(seen()).map((each) => (each.userId === '3' ? early : each)) }),
    '1 purchases were accepted before Redis was rebuilt',
  ],
  [
    'two orders of a user',
    seen({ mysql: { stock: 0, orders: [row('11', '1'), row('13', '3'), row('14', '3')] } }),
    'one-order-per-user violated',
  ],
  [
    'an order too many',
    seen({
      mysql: {
        stock: -1,
        orders: [
          ...['11', '13', '14'].map((id, index) => row(id, String([1, 3, 4][index]))),
          row('16', '6'),
        ],
      },
    }),
    'no-oversell violated',
  ],
  [
    'stores that do not agree',
    seen({}, { isConsistent: false }),
    'Redis and MySQL do not agree in the end',
  ],
])('%s is a violation', (_, flush, reason) => {
  const { verdict, reasons } = judgeFlush(flush);
  expect(verdict).toBe('violated');
  expect(reasons).toContainEqual(expect.stringContaining(reason));
});

/** Four in stock, and order 12 was recorded before the flush. */
function nothingLost(): FlushSeen {
  const orders = [row('11', '1'), row('12', '2'), row('13', '3'), row('14', '4')];
  const buyers = { '1': '11', '2': '12', '3': '13', '4': '14' };
  const redis = { stock: 0, buyers, queued: [] };
  return seen({ initialStock: 4, mysql: { stock: 0, orders }, redis });
}

test.each<[string, FlushSeen, string]>([
  ['nothing was lost', nothingLost(), 'no accepted order was in Redis alone at the flush'],
  [
    'nobody bought meanwhile',
    seen({ attempts: attemptsOf(seen()).filter(({ outcome }) => outcome === 'accepted') }),
    'nobody bought while Redis was rebuilt',
  ],
])('nothing is known when %s', (_, flush, reason) => {
  expect(judgeFlush(flush)).toMatchObject({ verdict: 'unknown', reasons: [reason] });
});
