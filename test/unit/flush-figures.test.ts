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
const attemptsOf = ({ facts: { attempts = [] } }: FlushSeen) => [...attempts];

test('an order that was lost in the flush is counted and claimed, and all else held', () => {
  const result = judgeFlush(seen());
  expect(result).toMatchObject({ verdict: 'held', reasons: [] });
  expect(result.figures).toMatchObject({ accepted: 4, recorded: 3, lostAccepted: 1, oversold: 0 });
  expect(result.asClaimed).toHaveLength(1);
});

test.each<[string, FlushSeen]>([
  [
    'an order that is lost after the rebuild',
    seen({ attempts: [...attemptsOf(seen()), attempt('5', '15', 330)] }),
  ],
  [
    'a sale before the rebuild',
    seen({ attempts: [...attemptsOf(seen()), attempt('5', '15', 150)] }),
  ],
  [
    'two orders of a user',
    seen({ mysql: { stock: 0, orders: [row('11', '1'), row('13', '3'), row('14', '3')] } }),
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
  ],
  ['stores that do not agree', seen({}, { isConsistent: false })],
])('%s is a violation', (_, flush) => {
  expect(judgeFlush(flush).verdict).toBe('violated');
});

test.each<[string, FlushSeen]>([
  ['when nothing was lost', seen({}, { flushAt: 15n, flushedAt: 16n })],
  [
    'when nobody bought meanwhile',
    seen({ attempts: attemptsOf(seen()).filter(({ outcome }) => outcome === 'accepted') }),
  ],
])('nothing is known %s', (_, flush) => {
  expect(judgeFlush(flush).verdict).not.toBe('held');
});
