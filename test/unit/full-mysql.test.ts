/** A full MySQL, told from a worker that is stuck. */
import { expect, test } from 'vitest';
import { FullMysql } from '../../src/service/orders/full-mysql.ts';

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
