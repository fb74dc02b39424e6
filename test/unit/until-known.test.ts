/** A race that a slow machine left undecided is played again, and said to be. */
import { expect, test } from 'vitest';
import { untilKnown } from '../../src/lab/races/until-known.ts';

const undecidedBecause = (verdict: string) =>
  verdict === 'unknown' ? 'the machine is too slow' : undefined;

test.each([
  ['is played once when its verdict is known', ['held'], 1],
  ['is played once when it went wrong', ['violated', 'held'], 1],
  ['is played again while its verdict is unknown', ['unknown', 'held'], 2],
  ['is played three times at most', ['unknown', 'unknown', 'unknown', 'held'], 3],
])('a race %s', async (_, verdicts, times) => {
  const left = [...verdicts];
  const said: string[] = [];
  const { all, last } = await untilKnown(
    async () => left.shift() ?? '',
    undecidedBecause,
    (text) => said.push(text),
  );
  expect(all).toEqual(verdicts.slice(0, times));
  expect(last).toBe(verdicts[times - 1]);
  expect(said).toEqual(Array(times - 1).fill('the machine is too slow. It is played again.'));
});
