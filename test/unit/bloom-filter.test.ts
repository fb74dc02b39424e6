import { expect, test } from 'vitest';
import { BloomFilter } from '../../src/service/inventory/shared/sold-out-memory.ts';

const texts = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => String(from + index));

test.each([1, 100, 20_000, 200_000])(
  'a filter with %i users has each of them, and few others',
  (count) => {
    const filter = new BloomFilter(count);
    const added = texts(1_000_000, count);
    for (const text of added) filter.add(text);
    expect(added.filter((text) => !filter.mayHave(text))).toEqual([]);
    const others = texts(5_000_000, 200_000);
    const wrong = others.filter((text) => filter.mayHave(text)).length;
    expect(wrong / others.length).toBeLessThan(1 / 1_000);
  },
);

test('a filter needs two bytes for a text', () => {
  expect(BloomFilter.bytesFor(1_000_000)).toBe(2_000_000);
});

test('a filter with more users than it has room for still has each of them', () => {
  const filter = new BloomFilter(10);
  const added = texts(1, 1_000);
  for (const text of added) filter.add(text);
  expect(added.filter((text) => !filter.mayHave(text))).toEqual([]);
});
