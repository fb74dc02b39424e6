/** A race that a slow machine left undecided is played again, and said to be. */
import { describe, expect, test } from 'vitest';
import { replayWhileTooSlow, tooSlowBecause } from '../../src/lab/play/race-on.ts';
import { accepted, facts, type Given, history, row } from './facts.ts';

const tooSlow = (verdict: string) =>
  verdict === 'unknown' ? { en: 'the machine is too slow', zh: '机器太慢' } : undefined;

test.each([
  ['is played once when its verdict is known', ['held'], 1],
  ['is played once when it went wrong', ['violated', 'held'], 1],
  ['is played again while its verdict is unknown', ['unknown', 'held'], 2],
  ['is played three times at most', ['unknown', 'unknown', 'unknown', 'held'], 3],
])('a race %s', async (_, verdicts, times) => {
  const left = [...verdicts];
  const said: string[] = [];
  const last = await replayWhileTooSlow(
    async () => left.shift() ?? '',
    tooSlow,
    ({ en }) => said.push(en),
  );
  expect(left).toHaveLength(verdicts.length - times);
  expect(last).toBe(verdicts[times - 1]);
  expect(said).toEqual(Array(times - 1).fill('the machine is too slow. It is played again.'));
});

test('an interrupted command plays no further', async () => {
  const signal = AbortSignal.abort(new Error('interrupted'));
  const play = async () => 'held';
  await expect(replayWhileTooSlow(play, tooSlow, () => {}, signal)).rejects.toThrow('interrupted');
});

describe('a race for which the machine was too slow', () => {
  const played = (given: Given) => ({
    ...({ race: 'restart-with-data', rung: 'unique-rail', isSlow: true } as const),
    ...{ evidence: 'too slow', evidenceZh: '太慢', facts: facts(given) },
  });
  /** Two owners at once, and one order. */
  const once: Given = {
    ...{ orders: [row('a', '7')], attempts: [accepted('7', 'a')] },
    ...{ stock: 2, redis: { stock: 2, buyers: { 7: 'a' } } },
    history: history('0 a 7 granted', '1 b 7 granted', '2 b 7 releasing', '3 a 7 releasing'),
  };
  const twice: Given = {
    ...{ orders: [row('a', '7'), row('b', '7')], redis: { buyers: { 7: 'a' } } },
    attempts: [accepted('7', 'a'), accepted('7', 'b')],
  };

  test('is undecided', () => {
    expect(tooSlowBecause(played(once))).toEqual({
      en: 'restart-with-data on unique-rail: too slow',
      zh: 'unique-rail 上的 restart-with-data：太慢',
    });
    expect(tooSlowBecause({ ...played(once), isSlow: false })).toBeUndefined();
  });

  test('counts when the data is wrong: that must not happen at any speed', () => {
    expect(tooSlowBecause(played(twice))).toBeUndefined();
  });
});
