/** The verdict on a crowd that waits for one lock while one of its servers hangs. */
import { expect, test } from 'vitest';
import { brokenIn, type Crowd, missingIn } from '../../src/lab/drills/hung-master.ts';
import { accepted, refused } from './facts.ts';

const sale = accepted('7', 'a');
const ordered = refused('7', 'already-ordered');
const away = refused('7', 'lock-service-unavailable');
const many = <T>(one: T): T[] => Array.from({ length: 49 }, () => one);

const majority = (changes: Partial<Crowd> = {}): Crowd => ({
  ...{ rung: 'redlock', sells: true, waiting: 49 },
  ...{ attempts: [sale, ...many(ordered)], after: [away, accepted('8', 'b')] },
  ...changes,
});
const all = (changes: Partial<Crowd> = {}): Crowd =>
  majority({ rung: 'multilock', sells: false, attempts: [away, ...many(away)], ...changes });

test('a majority sells to the first, and every server of many refuses all: as claimed', () => {
  for (const crowd of [majority(), all()]) {
    expect(brokenIn(crowd)).toEqual([]);
    expect(missingIn(crowd)).toEqual([]);
  }
});

test.each([
  ['a majority sells nothing', majority({ attempts: [ordered, ...many(ordered)] }), '0 of 50'],
  ['a majority sells twice', majority({ attempts: [sale, sale, ...many(ordered)] }), '2 of 51'],
  ['a majority refuses one as away', majority({ attempts: [sale, away] }), '1 were refused'],
  ['it sells without every server', all({ attempts: [sale, ...many(away)] }), '1 were accepted'],
  ['it refuses for another reason', all({ attempts: [ordered, ...many(away)] }), 'only 49 of 50'],
  [
    'a refusal comes much later than a client waits',
    all({ attempts: [{ ...away, latencyMs: 12_000 }, ...many(away)] }),
    'a refusal took 12000 ms',
  ],
  ['a lock stays away', all({ after: [away, away] }), 'nobody could buy afterwards'],
  ['a lock stays behind', all({ after: [refused('8', 'busy')] }), 'nobody could buy afterwards'],
])('%s: broken', (_, crowd, reason) => {
  expect(
    brokenIn(crowd)
      .map(({ en }) => en)
      .join(),
  ).toContain(reason);
});

test('a crowd that does not wait for a lock that can be acquired shows nothing', () => {
  expect(missingIn(majority({ waiting: 3 }))).toHaveLength(1);
  expect(missingIn(all({ waiting: 3 }))).toEqual([]);
});
