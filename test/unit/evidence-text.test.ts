/** The evidence of a verdict as a sentence, in both languages; and as files have it. */
import { expect, test } from 'vitest';
import { evidenceText, recordedEvidence } from '../../src/texts/evidence.ts';
import type { LabEvidence } from '../../src/texts/evidence-en.ts';

const stay = (userId: string) =>
  ({ userId, orderId: `o${userId}`, instance: 'api-1', from: '0.0', to: '2.5' }) as const;

test.each<[evidence: LabEvidence, en: string, zh: string]>([
  [['stock-below-zero', -1], 'stock is -1', '库存变成了 -1'],
  [
    ['user-has-orders', '7', 2, ['a', 'b']],
    'user 7 has 2 orders: a, b',
    '用户 7 有 2 个订单：a, b',
  ],
  [
    ['user-has-orders', '7', 5, ['a', 'b']],
    'user 7 has 5 orders: a, b and 3 more',
    '用户 7 有 5 个订单：a, b，等等',
  ],
  [
    ['lock-events-incomplete', 'no-denial', 'a'],
    'the history has no denial of the lock for order a',
    '历史里订单 a 的记录：没有加锁失败',
  ],
  [
    ['history-says-another-outcome', 'r', { outcome: 'accepted', orderId: 'a' }, null],
    'request r was answered accepted (order a), and the history says nothing',
    '请求 r 得到的响应是 accepted（订单 a），历史里却是 没有',
  ],
  [
    ['sections-overlap', 'lock', stay('7'), stay('8')],
    'lock: user 7 on api-1 from 0.0 ms to 2.5 ms (order o7), and user 8 on api-1 from 0.0 ms to 2.5 ms (order o8)',
    'lock：用户 7 在 api-1 上从 0.0 ms 到 2.5 ms（订单 o7），同时用户 8 在 api-1 上从 0.0 ms 到 2.5 ms（订单 o8）',
  ],
  [
    ['writes-refused-by-mysql', 1, 2],
    'writes that MySQL refused: 1 by the fence, 2 by the unique key',
    'MySQL 拒绝的写入：栅栏令牌已过期 1 次，违反唯一索引 2 次',
  ],
  [
    ['broken-without-claim', 'no-oversell', ['more-orders-than-stock', 2, 1]],
    'no-oversell, which the ladder does not claim: 2 orders for 1 in stock',
    '违反了 no-oversell，与预期不一致：库存 1，订单 2 个',
  ],
])('%j', (evidence, en, zh) => {
  expect(evidenceText('en', evidence)).toBe(en);
  expect(evidenceText('zh', evidence)).toBe(zh);
});

test('several are one text', () => {
  const found = [['history-gap'], ['nobody-bought']] as const;
  expect(evidenceText('en', ...found)).toBe('the history has a gap; nobody bought');
  expect(evidenceText('zh', ...found)).toBe('历史里有缺口；没有人买到');
  expect(evidenceText('en')).toBe('');
});

test('a file has it in each language', () => {
  expect(recordedEvidence([['nobody-bought']])).toEqual({
    evidence: 'nobody bought',
    evidenceZh: '没有人买到',
  });
});
