/** The short form of the drill: one kill on three queues. The races play the others. */
import { expect, test } from 'vitest';
import { acceptedShape, killAtHops } from '../../src/lab/drills/accepted-is-not-sold.ts';
import { Timeline } from '../../src/lab/drills/timeline.ts';
import { drillText } from '../../src/lab/report/drill-text.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(acceptedShape);

test('a killed worker loses the order of a list, and none of a reliable list or of the final rung', async () => {
  const options = { seed: 1, minutes: 0.1, progress: () => {}, recorder: new Timeline() };
  const rungs = ['redis-list', 'redis-list-reliable', 'lua-stream'] as const;
  const signal = AbortSignal.timeout(100_000);
  const { facts: _, ...result } = await killAtHops(lab(), rungs, ['worker-dies'], {
    ...options,
    signal,
  });
  const text = drillText(result);
  expect(result, text).toMatchObject({ verdict: 'held', reasons: [] });
  const lost = { accepted: 1, once: 0, twice: 0, never: 1, stuck: 1, seconds: null };
  const kept = { accepted: 1, once: 1, twice: 0, never: 0, stuck: 0 };
  expect(result.hops).toMatchObject([lost, kept, kept]);
  expect(result.asClaimed).toEqual([expect.stringMatching(/^worker-dies on redis-list: order/)]);
  expect(text.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
}, 120_000);
