/** At most so many at once, and a line that is bounded in length and in time. */
import { expect, test } from 'vitest';
import { boundedLine } from '../../src/service/inventory/shared/bounded-line.ts';
import { withCode } from '../support/basics.ts';

const limits = { connections: 2, waitingMax: 2, waitMs: 60_000 };

/** Work that ends when it is told to. */
function task(begun: string[], name: string) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const work = async () => {
    begun.push(name);
    await promise;
    return name;
  };
  return { work, end };
}

/** The first one runs and ends; the second one is refused meanwhile. */
async function oneRefused(limits: Parameters<typeof boundedLine>[0]) {
  const inLine = boundedLine(limits);
  const begun: string[] = [];
  const running = task(begun, 'a');
  const first = inLine(running.work);
  await expect(inLine(task(begun, 'b').work)).rejects.toThrow(withCode('CONNECTIONS_BUSY'));
  running.end();
  await first;
  return { begun, inLine };
}

test('runs so many at once, and then the one that waits longest', async () => {
  const inLine = boundedLine(limits);
  const begun: string[] = [];
  const tasks = ['a', 'b', 'c', 'd'].map((name) => task(begun, name));
  const works = tasks.map(({ work }) => inLine(work));
  expect(begun).toEqual(['a', 'b']);
  tasks[1]?.end();
  await works[1];
  await expect.poll(() => begun).toEqual(['a', 'b', 'c']);
  for (const { end } of tasks) end();
  expect(await Promise.all(works)).toEqual(['a', 'b', 'c', 'd']);
});

test('refuses at once when the line is full', async () => {
  const { begun } = await oneRefused({ connections: 1, waitingMax: 0, waitMs: 60_000 });
  expect(begun).toEqual(['a']);
});

test('refuses after the wait, and its turn is not lost', async () => {
  const { begun, inLine } = await oneRefused({ connections: 1, waitingMax: 1, waitMs: 10 });
  const last = task(begun, 'c');
  const third = inLine(last.work);
  last.end();
  expect(await third).toBe('c');
  expect(begun).toEqual(['a', 'c']);
});

test('passes the turn on after an error', async () => {
  const inLine = boundedLine({ ...limits, connections: 1 });
  const failing = inLine(() => Promise.reject(new Error('failed')));
  const next = inLine(async () => 'next');
  await expect(failing).rejects.toThrow('failed');
  expect(await next).toBe('next');
});
