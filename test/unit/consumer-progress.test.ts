/** A consumer that makes progress, told from one that only seems to, and from a full MySQL. */
import { expect, test } from 'vitest';
import { ConsumerProgress, FullMysql } from '../../src/service/processes/watch-consumers.ts';

/** A consumer that has been looked at, when this entry waited longest. */
function consumerAt(oldest: string | null): ConsumerProgress {
  const progress = new ConsumerProgress();
  progress.turned(0);
  progress.settled(0);
  progress.look(oldest);
  return progress;
}

const turns = (progress: ConsumerProgress, entries: number, settled: number): void => {
  progress.turned(entries);
  progress.settled(settled);
};

type Oldest = string | null | undefined;
test.each<[string, string | null, [entries: number, settled: number], Oldest, boolean]>([
  ['a settled order, whatever waits', '1-0', [3, 1], '1-0', true],
  ['a settled order, although the queue is not seen', '1-0', [3, 1], undefined, true],
  ['an answer without orders, when none waits', '1-0', [0, 0], null, true],
  ['an answer without orders, when another consumer settles them', '1-0', [0, 0], '2-0', true],
  ['an order that it could not settle', '1-0', [1, 0], '1-0, deliveries: 2', false],
  ['an answer while the same one still waits: the server is another', '1-0', [0, 0], '1-0', false],
  ['an answer without orders while the queue is not seen', null, [0, 0], undefined, false],
])('%s: with %j, %j, then %j, progress is %j', (_, before, [entries, settled], oldest, is) => {
  const progress = consumerAt(before);
  turns(progress, entries, settled);
  expect(progress.look(oldest)).toBe(is);
});

test('no answer of the queue is no progress, although no order waits: the next one would', () => {
  expect(consumerAt(null).look(null)).toBe(false);
});

test('orders that it took and could not settle are no progress, although others settle theirs', () => {
  const progress = consumerAt('1-0');
  turns(progress, 3, 0);
  turns(progress, 0, 0);
  expect(progress.isBusy).toBe(true);
  expect(progress.look('2-0')).toBe(false);
  turns(progress, 0, 0);
  expect(progress.look('3-0')).toBe(false);
});

test('a consumer is busy until it has settled its orders, or none waits any more', () => {
  const progress = consumerAt(null);
  expect(progress.isBusy).toBe(false);
  progress.turned(3);
  expect(progress.isBusy).toBe(true);
  expect(progress.look('1-0')).toBe(false);
  progress.settled(3);
  expect(progress.isBusy).toBe(false);
  turns(progress, 3, 0);
  turns(progress, 0, 0);
  expect(progress.look(null)).toBe(true);
  expect(progress.isBusy).toBe(false);
});

const newsForMs = 100;

test('MySQL is full from its refusal of an order, until the next news is due', () => {
  const full = new FullMysql(newsForMs);
  expect(full.isLasting(0)).toBe(false);
  full.seen(0);
  expect([full.isLasting(0), full.isLasting(99), full.isLasting(100)]).toEqual([true, true, false]);
  full.seen(200);
  expect(full.isLasting(299)).toBe(true);
});

test('MySQL is not full any more once it has recorded an order', () => {
  const full = new FullMysql(newsForMs);
  full.seen(0);
  full.over();
  expect(full.isLasting(1)).toBe(false);
});
