/** The plan of a rush: the same for the same seed, with every user, and the eager users first. */
import { describe, expect, test } from 'vitest';
import { defaults } from '../../src/lab/drills/demo-plan.ts';
import { planRush } from '../../src/lab/workload/rush.ts';

const { requestsPerEagerUser } = defaults;

const usersInOrder = (users: number, seed: number) =>
  planRush({ users, seed, requestsPerEagerUser }).map(({ userId }) => userId);

function requestsPerUser(users: number, seed: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const userId of usersInOrder(users, seed)) counts.set(userId, (counts.get(userId) ?? 0) + 1);
  return counts;
}

describe('the plan of a rush', () => {
  test('is the same for the same seed', () => {
    expect(planRush({ users: 100, seed: 7, requestsPerEagerUser })).toEqual(
      planRush({ users: 100, seed: 7, requestsPerEagerUser }),
    );
  });

  test('has another order for another seed', () => {
    const orders = [1, 2, 3, 4, 5].map((seed) => usersInOrder(100, seed).join());
    expect(new Set(orders).size).toBe(5);
  });

  test('names its requests after its seed, so that two rushes never share a request id', () => {
    const ids = [1, 2]
      .flatMap((seed) => planRush({ users: 100, seed, requestsPerEagerUser }))
      .map(({ requestId }) => requestId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each([1, 2, 10, 100, 999])('has every one of %i users, and no other', (users) => {
    const expected = Array.from({ length: users }, (_, index) => String(index + 1));
    expect([...requestsPerUser(users, 3).keys()].toSorted((a, b) => Number(a) - Number(b))).toEqual(
      expected,
    );
  });

  test.each([
    [1, 1],
    [3, 1],
    [10, 1],
    [19, 1],
    [100, 10],
    [999, 99],
  ])('of %i users has %i eager ones, and one request of every other user', (users, eager) => {
    const counts = [...requestsPerUser(users, 4).values()];
    expect(counts.filter((count) => count === requestsPerEagerUser)).toHaveLength(eager);
    expect(counts.filter((count) => count === 1)).toHaveLength(users - eager);
  });

  test('puts the eager users first, while there is stock to compete for', () => {
    const counts = requestsPerUser(100, 5);
    const isEager = usersInOrder(100, 5).map(
      (userId) => counts.get(userId) === requestsPerEagerUser,
    );
    expect(isEager.lastIndexOf(true)).toBe(10 * requestsPerEagerUser - 1);
    expect(isEager.indexOf(false)).toBe(10 * requestsPerEagerUser);
  });

  test('sends the requests of each eager user in a row, and orders the users by the seed', () => {
    const rows = (seed: number) =>
      Array.from({ length: 10 }, (_, row) =>
        usersInOrder(100, seed).slice(row * requestsPerEagerUser, (row + 1) * requestsPerEagerUser),
      );
    for (const row of rows(6)) expect(new Set(row).size).toBe(1);
    expect(rows(6)).not.toEqual(rows(7));
  });
});
