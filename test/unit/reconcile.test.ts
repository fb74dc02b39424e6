/** The three identities of a sale: what is a difference, and what is only an order on its way. */
import { describe, expect, test } from 'vitest';
import {
  differencesOf,
  isRemoved,
  type OrderInMysql,
  orderDifferences,
  recordedIn,
  type Sale,
  type SalePart,
  type Terms,
} from '../../src/service/orders/reconcile/differences.ts';
import { upTo } from '../../src/service/orders/reconcile/reconcile.ts';
import { withCode } from '../support/basics.ts';

const order = (id: string, userId: string) => ({ id, voucherId: '1', userId, requestId: `r${id}` });
const inMysql = (id: string, userId: string, status: OrderInMysql['status'] = 'confirmed') =>
  [id, { ...order(id, userId), status }] as const;
const buyer = (id: string, userId: string) => [userId, order(id, userId)] as const;

const terms = {
  ...{ change: 2, changeBegunMs: '7', beginMs: 0, endMs: Date.now() + 60_000, paused: false },
};

const inRedis = (stock: number, buyers: number) => ({ stock, buyers, terms: [terms] });
const gone = { stock: null, buyers: 0, terms: [] };

/** Ten at first; order 11 of user 1 is recorded, and order 12 of user 2 is in flight. */
type OnePart = Omit<Sale & SalePart, 'recorded' | 'streamed'>;
const onlyFirst = new Map([buyer('11', '1')]);
/** Nothing is in flight. */
const settled = { inStream: [], noted: new Set<string>() };
const bothInMysql = (id: string, userId: string, status?: OrderInMysql['status']) => ({
  inMysql: new Map([inMysql('11', '1'), inMysql(id, userId, status)]),
});

const sale = (changes: Partial<OnePart> = {}): OnePart => ({
  voucherId: '1',
  initialStock: 10,
  terms,
  redis: inRedis(8, 2),
  buyers: new Map([buyer('11', '1'), buyer('12', '2')]),
  laterBuyers: new Map(),
  noted: new Set(['12']),
  inStream: [{ entryId: '5-0', order: order('12', '2') }],
  inMysql: new Map([inMysql('11', '1')]),
  stockInMysql: 9,
  isMoving: false,
  ...changes,
});

function differences(changes: Partial<OnePart>) {
  const all = sale(changes);
  const counts = { recorded: recordedIn(all).length, streamed: all.inStream.length };
  return differencesOf({ ...all, ...counts }, orderDifferences(all));
}

const kinds = (changes: Partial<OnePart>): string[] => differences(changes).map(({ kind }) => kind);

describe('no difference', () => {
  const harmless: Readonly<Record<string, Partial<OnePart>>> = {
    'is a sale that is right': {},
    'is an order that was recorded and is not acknowledged': {
      ...bothInMysql('12', '2'),
      stockInMysql: 8,
    },
    'is an order that was sold after the buyers were read': {
      buyers: onlyFirst,
      laterBuyers: new Map([buyer('12', '2')]),
    },
    'is a failed order in the stream, which a worker gives back': bothInMysql('12', '2', 'failed'),
  };

  test.each(Object.entries(harmless))('%s', (_, changes) => {
    expect(kinds(changes)).toEqual([]);
  });
});

describe('a difference', () => {
  const found: Readonly<Record<string, [changes: Partial<OnePart>, kinds: string[]]>> = {
    'is a stock that is too high': [{ redis: inRedis(9, 2) }, ['stock']],
    'is a stock that is no number': [{ redis: inRedis(Number.NaN, 2) }, ['stock']],
    'is a stock of MySQL that is wrong': [{ stockInMysql: 10 }, ['stock-of-mysql']],
    'is an order that is nowhere, though its unit is taken': [settled, ['stock', 'order-lost']],
    'is a buyer whose order has failed': [
      { ...settled, ...bothInMysql('12', '2', 'failed') },
      ['stock', 'buyer-of-failed-order'],
    ],
    'is an order whose user is no buyer, even when the unit is taken': [
      { buyers: onlyFirst, redis: inRedis(8, 1) },
      ['order-without-buyer'],
    ],
    'is a user who is the buyer of another order than the recorded one': [
      { ...bothInMysql('13', '2'), stockInMysql: 8 },
      ['stock', 'buyer-of-another-order'],
    ],
    'is a buyer whose order MySQL has for another user, and nothing else then': [
      { ...settled, ...bothInMysql('12', '3'), stockInMysql: 8 },
      ['order-of-another-user'],
    ],
    'is a queued order without a note': [{ noted: new Set() }, ['order-without-note']],
    'is a note of no queued order': [{ noted: new Set(['11', '12']) }, ['note-without-order']],
    'is a sale that Redis does not have': [{ redis: gone }, ['sale-missing']],
  };

  test.each(Object.entries(found))('%s', (_, [changes, expected]) => {
    expect(kinds(changes)).toEqual(expected);
  });
});

test('a list of differences has an end, over all parts: it would not fit in memory', () => {
  const compare = upTo(3);
  const lost = sale({ ...settled, inMysql: new Map() });
  expect(compare(lost).differences).toHaveLength(2);
  expect(() => compare(lost)).toThrow(withCode('TOO_MANY_DIFFERENCES'));
  expect(upTo(4)(lost).differences).toHaveLength(2);
});

test('a sale that is over may be removed from Redis, when nothing is in the stream', () => {
  const removed = { redis: gone, streamed: 0, terms: { ...terms, endMs: 1_000 } };
  expect(isRemoved(removed)).toBe(true);
  expect(differences({ ...removed, inStream: [] })).toEqual([]);
  for (const change of [{ terms }, { streamed: 1 }])
    expect(isRemoved({ ...removed, ...change })).toBe(false);
});

describe('the last change of an operator', () => {
  const withTerms = (...found: Partial<Terms>[]) =>
    kinds({ redis: { ...inRedis(8, 2), terms: found.map((each) => ({ ...terms, ...each })) } });

  test.each<[string, Partial<Terms>]>([
    ['has an older number', { change: 1 }],
    ['has another pause', { paused: true }],
    ['has another begin', { beginMs: 1 }],
    ['has another end', { endMs: 5 }],
    ['has an end that is no number', { endMs: Number.NaN }],
  ])('differs where Redis %s, also in one bucket only', (_, found) => {
    expect(withTerms(found)).toEqual(['change']);
    expect(withTerms({}, found)).toEqual(['change']);
  });

  test('was lost by MySQL where Redis has a later one, or another one of the same number', () => {
    expect(withTerms({ change: 3 })).toEqual(['change-of-mysql']);
    expect(withTerms({ changeBegunMs: '8' })).toEqual(['change-of-mysql']);
    expect(withTerms({ changeBegunMs: '' })).toEqual([]); // Of an earlier version.
  });
});
