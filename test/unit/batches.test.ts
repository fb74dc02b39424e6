/** Items of one key, gathered into batches that run one at a time. */
import { describe, expect, test } from 'vitest';
import { type BatchLimits, batches } from '../../src/inventory/shared/batches.ts';

const limits = { gatherMs: 1, batchSize: 3, mostWaiting: 10 };

/** The batches that ran, and what ends the one that runs now. */
function recordBatches(changes: Partial<BatchLimits> = {}) {
  const ran: string[] = [];
  const ends: (() => void)[] = [];
  const begun: (() => void)[] = [];
  const add = batches<string>(
    (items) => {
      ran.push(items.join(' '));
      begun.shift()?.();
      return new Promise((end) => ends.push(end));
    },
    { ...limits, ...changes },
  );
  const next = () => new Promise<void>((resolve) => begun.push(resolve));
  const end = () => ends.shift()?.();
  return { ran, add, next, end };
}

describe('a batch', () => {
  test('has the items that came while it gathered', async () => {
    const { ran, add, next } = recordBatches();
    for (const item of ['a', 'b']) add('key', item);
    expect(ran).toEqual([]);
    await next();
    expect(ran).toEqual(['a b']);
  });

  test('has all items of one turn of the event loop when it gathers no longer', async () => {
    const { ran, add, next } = recordBatches({ gatherMs: 0 });
    add('key', 'a');
    await Promise.resolve();
    add('key', 'b');
    await next();
    expect(ran).toEqual(['a b']);
  });

  test('begins when the one before is done, with those that came meanwhile', async () => {
    const { ran, add, next, end } = recordBatches();
    add('key', 'a');
    await next();
    for (const item of ['b', 'c']) add('key', item);
    expect(ran).toEqual(['a']);
    end();
    await next();
    expect(ran).toEqual(['a', 'b c']);
  });

  test('has a limited size, and the rest is the next batch', async () => {
    const { ran, add, next, end } = recordBatches();
    for (const item of ['a', 'b', 'c', 'd']) add('key', item);
    await next();
    end();
    await next();
    expect(ran).toEqual(['a b c', 'd']);
  });

  test('does not wait for the batches of another key', async () => {
    const { ran, add, next } = recordBatches();
    add('one', 'a');
    await next();
    add('other', 'b');
    await next();
    expect(ran).toEqual(['a', 'b']);
  });

  test('gathers again after all of them are done', async () => {
    const { ran, add, next, end } = recordBatches();
    add('key', 'a');
    await next();
    end();
    await Promise.resolve();
    add('key', 'b');
    await next();
    expect(ran).toEqual(['a', 'b']);
  });
});

test('an item is not added when too many of its key wait already', async () => {
  const { add, next } = recordBatches({ batchSize: 1, mostWaiting: 2 });
  add('key', 'a');
  await next();
  expect(['b', 'c', 'd'].map((item) => add('key', item))).toEqual([true, true, false]);
  expect(add('other', 'e')).toBe(true);
});
