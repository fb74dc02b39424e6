/** What is said of a sale that was broken by hand: a sentence for each rung, and what it proves. */
import { expect, test } from 'vitest';
import { judgeSales } from '../../src/lab/by-hand/break-it.ts';
import { faultOn } from '../../src/lab/faults/faults.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import { accepted, facts, row, unknown } from './facts.ts';

const sale = { rung: 'redlock', voucherId: '7', answers: [] } as const;
const saidOf = (of: ReturnType<typeof facts>, more = of): (string | undefined)[] =>
  judgeSales([sale, { ...sale, rung: 'lua-stream' }], [of, more], []).conclusions?.map(
    ({ en }) => en,
  ) ?? [];

test('each rung says which promise broke, and how many orders nobody was told of', () => {
  const untold = facts({ attempts: [accepted('1', 'a'), unknown('2')] });
  const twice = facts({ stock: 0, orders: [row('a', '1'), row('b', '1'), row('c', '2')] });
  expect(saidOf(untold, twice)).toEqual([
    expect.stringMatching(
      /^redlock: .*MySQL has 2 orders, 1 of them without an accepted answer\.$/,
    ),
    expect.stringMatching(/^lua-stream: broke .*one-order-per-user.*MySQL has 3 orders/),
  ]);
});

test('a fault that nobody mended is said, and an order that is nowhere is lost', () => {
  const gone = facts({ stock: 2, orders: [row('a', '1')] });
  const judged = (unmended: readonly string[]) => judgeSales([sale], [gone], [], unmended);
  expect(judged([]).conclusions).toHaveLength(1);
  const said = judged(['stop redis-2', 'drop redis-3']).conclusions?.[1];
  for (const text of [said?.en, said?.zh]) expect(text).toContain('stop redis-2, drop redis-3');
  expect(judged([]).lost).toEqual(['b']);
  const queued = facts({ stock: 2, orders: [row('a', '1')], redis: { queued: ['b'] } });
  expect(judgeSales([sale], [queued], []).lost).toEqual([]);
  const { attempts: _, ...untold } = gone;
  expect(judgeSales([sale], [untold], []).lost).toBeUndefined();
});

test('where the answers are those of k6, nothing is said about who was told', () => {
  const { attempts: _, ...withoutAttempts } = facts();
  const [said] = saidOf(withoutAttempts);
  expect(said).toMatch(/MySQL has 2 orders\.$/);
});

test('what a flushed Redis forgets is as claimed for the sale whose orders wait in it', () => {
  const { name } = faultOn('flush-all', 'redis-main');
  const lost = [facts({ stock: 2, orders: [row('a', '1')] })]; // Redis accepted a second one.
  const judged = (rung: RungName, faults: readonly string[]) =>
    judgeSales([{ ...sale, rung }], lost, faults).isAsClaimed;
  expect(judged('lua-stream', [name])).toBe(true);
  expect(judged('lua-stream', ['flush redis-1'])).toBe(false);
  expect(judged('rabbitmq', [name])).toBe(false);
});
