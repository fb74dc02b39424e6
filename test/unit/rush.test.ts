/** The plan of a rush: the same for the same seed, with every user, and the eager users first. */
import { expect, test } from 'vitest';
import { defaults } from '../../src/lab/drills/demo-plan.ts';
import { planRush } from '../../src/lab/workload/rush.ts';

const { requestsPerEagerUser } = defaults;

const planned = (users: number, seed: number) => planRush({ users, seed, requestsPerEagerUser });
const usersInOrder = (users: number, seed: number) =>
  planned(users, seed).map(({ userId }) => userId);

test('is the same for the same seed, and has another order for another', () => {
  const orders = [1, 2, 3, 3, 4, 5].map((seed) => usersInOrder(100, seed).join());
  expect(new Set(orders).size).toBe(5);
});

test('names its requests after its seed, so that two rushes never share a request id', () => {
  const ids = [1, 2].flatMap((seed) => planned(100, seed)).map(({ requestId }) => requestId);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each([
  [1, 1],
  [3, 1],
  [19, 1],
  [100, 10],
  [999, 99],
])('of %i users has every one, %i of them eager, and no other', (users, eager) => {
  const counts = new Map<number, number>();
  for (const userId of usersInOrder(users, 4).map(Number))
    counts.set(userId, (counts.get(userId) ?? 0) + 1);
  const expected = Array.from({ length: users }, (_, index) => index + 1);
  expect([...counts.keys()].toSorted((a, b) => a - b)).toEqual(expected);
  const all = [...counts.values()];
  expect(all.filter((count) => count === requestsPerEagerUser)).toHaveLength(eager);
  expect(all.filter((count) => count === 1)).toHaveLength(users - eager);
});

test('sends the requests of each eager user in a row, first, in an order of the seed', () => {
  const rows = (seed: number) =>
    Array.from({ length: 10 }, (_, row) =>
      usersInOrder(100, seed).slice(row * requestsPerEagerUser, (row + 1) * requestsPerEagerUser),
    );
  for (const row of rows(6)) expect(new Set(row).size).toBe(1);
  expect(new Set(rows(6).flat()).size).toBe(10);
  expect(rows(6)).not.toEqual(rows(7));
});
