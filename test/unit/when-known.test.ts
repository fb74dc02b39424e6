/** As `await`, without a turn of the event loop where there is nothing to wait for. */
import { expect, test } from 'vitest';
import { whenKnown } from '../../src/service/purchase/when-known.ts';

const double = (value: number) => 2 * value;

test('uses a value at once, and a promise when it is settled', async () => {
  expect(whenKnown(7, double)).toBe(14);
  const later = whenKnown(Promise.resolve(7), double);
  expect(later).toBeInstanceOf(Promise);
  expect(await later).toBe(14);
});

test('rejects as the promise does, and throws what the use throws', async () => {
  await expect(whenKnown(Promise.reject(new Error('away')), double)).rejects.toThrow('away');
  const fail = () => {
    throw new Error('unusable');
  };
  expect(() => whenKnown(7, fail)).toThrow('unusable');
});
