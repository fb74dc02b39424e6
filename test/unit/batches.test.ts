/** Items of one key, gathered into batches that run one at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type BatchLimits, batches } from '../../src/service/inventory/shared/batches.ts';

const limits = { gatherMs: 1, batchSize: 3, waitingMax: 10, waitMs: 30_000 };

/** The batches that ran, and what ends the one that runs now. */
function recordBatches(changes: Partial<BatchLimits> = {}) {
  const ran: string[] = [];
  const refused: string[] = [];
  const ends: (() => void)[] = [];
  const begun: (() => void)[] = [];
  const add = batches<string>(
    {
      run: (items) => {
        ran.push(items.join(' '));
        begun.shift()?.();
        return new Promise((end) => ends.push(end));
      },
      refuse: (item) => void refused.push(item),
    },
    { ...limits, ...changes },
  );
  const next = () => new Promise<void>((resolve) => begun.push(resolve));
  const end = () => ends.shift()?.();
  return { ran, refused, add, next, end };
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

  test('has a limited size, and the next one begins with the rest when it is done', async () => {
    const { ran, add, next, end } = recordBatches();
    for (const item of ['a', 'b', 'c', 'd']) add('key', item);
    await next();
    add('key', 'e');
    expect(ran).toEqual(['a b c']);
    end();
    await next();
    expect(ran).toEqual(['a b c', 'd e']);
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

test('an item is refused at once when too many of its key wait already', async () => {
  const { ran, refused, add, next } = recordBatches({ batchSize: 1, waitingMax: 2 });
  add('key', 'a');
  await next();
  for (const item of ['b', 'c', 'd']) add('key', item);
  expect(refused).toEqual(['d']);
  add('other', 'e');
  await next();
  expect([ran, refused]).toEqual([['a', 'e'], ['d']]);
});

test('an item that has waited too long is refused, and those behind it have their batch', async () => {
  const { ran, refused, add, next, end } = recordBatches({ batchSize: 1, waitMs: 300 });
  add('key', 'a');
  await next();
  add('key', 'b');
  await sleep(350);
  add('key', 'c');
  end();
  await next();
  expect([ran, refused]).toEqual([['a', 'c'], ['b']]);
});
