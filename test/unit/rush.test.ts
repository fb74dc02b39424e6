/** The plan of a rush: the same for the same seed, everybody in it, and a crowd of insistent users in front. */
import { describe, expect, test } from 'vitest';
import { defaults } from '../../src/lab/drills/demo-plan.ts';
import { planRush } from '../../src/lab/workload/rush.ts';

const { insistence } = defaults;

const usersInOrder = (users: number, seed: number) =>
  planRush({ users, seed, insistence }).map(({ userId }) => userId);

function requestsPerUser(users: number, seed: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const userId of usersInOrder(users, seed)) counts.set(userId, (counts.get(userId) ?? 0) + 1);
  return counts;
}

describe('the plan of a rush', () => {
  test('is the same for the same seed', () => {
    expect(planRush({ users: 100, seed: 7, insistence })).toEqual(
      planRush({ users: 100, seed: 7, insistence }),
    );
  });

  test('has another order for another seed', () => {
    const orders = [1, 2, 3, 4, 5].map((seed) => usersInOrder(100, seed).join());
    expect(new Set(orders).size).toBe(5);
  });

  test('names its requests after its seed, so that two rushes never share one', () => {
    const ids = [1, 2]
      .flatMap((seed) => planRush({ users: 100, seed, insistence }))
      .map(({ requestId }) => requestId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each([1, 2, 10, 100, 999])('has every one of %i users in it, and nobody else', (users) => {
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
  ])('of %i users has %i who insist, and one request of everybody else', (users, insistent) => {
    const counts = [...requestsPerUser(users, 4).values()];
    expect(counts.filter((count) => count === insistence)).toHaveLength(insistent);
    expect(counts.filter((count) => count === 1)).toHaveLength(users - insistent);
  });

  test('lets those who insist come first, so that there is stock to fight for', () => {
    const counts = requestsPerUser(100, 5);
    const insists = usersInOrder(100, 5).map((userId) => counts.get(userId) === insistence);
    expect(insists.lastIndexOf(true)).toBe(10 * insistence - 1);
    expect(insists.indexOf(false)).toBe(10 * insistence);
  });

  test('sends each insistent user’s requests in a row, and the users in another order for another seed', () => {
    const rows = (seed: number) =>
      Array.from({ length: 10 }, (_, row) =>
        usersInOrder(100, seed).slice(row * insistence, (row + 1) * insistence),
      );
    for (const row of rows(6)) expect(new Set(row).size).toBe(1);
    expect(rows(6)).not.toEqual(rows(7));
  });
});
