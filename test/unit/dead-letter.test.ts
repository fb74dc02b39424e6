/** The fields of a dead letter: what is known about it can be told from the entry that it keeps. */
import { expect, test } from 'vitest';
import { asLetter, readLetter } from '../../src/service/queues/shared/order-fields.ts';

const noted = { voucherId: '12', userId: '7' };
const known = { cause: 'userId is missing', deliveries: 3 };

test.each([
  ['that is an order', ['orderId', '5', 'voucherId', '12', 'userId', '7', 'requestId', 'r']],
  ['that is empty', []],
  ['whose fields have the names of the letter', ['reason', 'x', 'noted', '1:2', 'deliveries', '9']],
  ['with a field without a value', ['orderId']],
])('an entry %s is kept whole, beside what is known', (_, entry) => {
  const malformed = { reason: 'malformed', ...known, entry };
  expect(readLetter(asLetter({ ...known, noted }, entry))).toEqual({ ...malformed, noted });
  expect(readLetter(asLetter({ ...known, noted: undefined }, entry))).toEqual(malformed);
});

test('the letter of an order has its reason and its deliveries, where these are known', () => {
  const entry = ['orderId', '5', 'voucherId', '12', 'userId', '7', 'requestId', 'r'];
  const why = ['reason', 'stock-short', 'deliveries'];
  expect(readLetter([...why, '1', ...entry])).toEqual({
    ...{ reason: 'stock-short', deliveries: 1, entry },
  });
  expect(readLetter([...why, '', ...entry])).toEqual({ reason: 'stock-short', entry });
});

test('a letter of an earlier version is read: its reason is the last field', () => {
  const entry = ['orderId', '5', 'voucherId', '12', 'userId', '7', 'reason', 'undeliverable'];
  expect(readLetter(entry)).toEqual({ reason: 'undeliverable', entry });
  const malformed = ['reason', 'malformed', 'cause', 'x', 'orderId', '6'];
  expect(readLetter(malformed)).toEqual({
    ...{ reason: 'malformed', cause: 'x', entry: ['orderId', '6'] },
  });
});
