/** A consumer that makes progress, told from one that only seems to. */
import { describe, expect, test } from 'vitest';
import { ConsumerProgress } from '../../src/orders/consumer-progress.ts';

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

describe('progress is', () => {
  test('a settled order, whatever waits, and although the queue is not seen', () => {
    const progress = consumerAt('1-0');
    turns(progress, 3, 1);
    expect(progress.look('1-0')).toBe(true);
    turns(progress, 3, 1);
    expect(progress.look(undefined)).toBe(true);
  });

  test('an answer without orders, when none waits', () => {
    const progress = consumerAt('1-0');
    turns(progress, 0, 0);
    expect(progress.look(null)).toBe(true);
  });

  test('an answer without orders, when another consumer settles them', () => {
    const progress = consumerAt('1-0');
    turns(progress, 0, 0);
    expect(progress.look('2-0')).toBe(true);
  });
});

describe('no progress is', () => {
  test('an order that it could not settle, although it is delivered again and again', () => {
    const progress = consumerAt('1-0, deliveries: 1');
    for (const times of [2, 3, 4]) {
      turns(progress, 1, 0);
      expect(progress.look(`1-0, deliveries: ${times}`)).toBe(false);
    }
  });

  test('no answer of the queue, although no order waits: the next one would', () => {
    expect(consumerAt(null).look(null)).toBe(false);
  });

  test('an answer without orders while the same one still waits: the server is another', () => {
    const progress = consumerAt('1-0');
    turns(progress, 0, 0);
    expect(progress.look('1-0')).toBe(false);
  });

  test('an answer without orders while the queue is not seen', () => {
    const progress = consumerAt(null);
    turns(progress, 0, 0);
    expect(progress.look(undefined)).toBe(false);
  });

  test('orders that it took and could not settle, although others settle theirs', () => {
    const progress = consumerAt('1-0');
    turns(progress, 3, 0);
    turns(progress, 0, 0);
    expect(progress.isBusy).toBe(true);
    expect(progress.look('2-0')).toBe(false);
    turns(progress, 0, 0);
    expect(progress.look('3-0')).toBe(false);
  });
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
