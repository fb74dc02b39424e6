/** The short form of the drill: two kills on some queues, and every hop on the final rung. */
import { expect, test } from 'vitest';
import {
  acceptedShape,
  hops,
  type Trials,
  tryQueues,
} from '../../src/lab/drills/accepted-is-not-sold.ts';
import { Timeline } from '../../src/lab/drills/timeline.ts';
import { drillText } from '../../src/lab/report/drill-text.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(acceptedShape);

async function play(trials: Trials) {
  const options = { seed: 1, minutes: 0.1, progress: () => {}, recorder: new Timeline() };
  const signal = AbortSignal.timeout(100_000);
  const { facts: _, ...result } = await tryQueues(lab(), trials, { ...options, signal });
  const text = drillText(result);
  expect(result, text).toMatchObject({ verdict: 'held', reasons: [] });
  expect(text.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
  return result;
}

test('a killed worker loses the order of a list, and none of a queue that acknowledges', async () => {
  const rungs = ['redis-list', 'redis-list-reliable', 'bullmq-5s'];
  const { hops: played, asClaimed } = await play({ rungs, hops: ['worker-dies'] });
  const lost = { accepted: 1, once: 0, twice: 0, never: 1, stuck: 1, seconds: null };
  const kept = { accepted: 1, once: 1, twice: 0, never: 0, stuck: 0 };
  expect(played).toMatchObject([lost, kept, kept]);
  expect(asClaimed).toEqual([expect.stringMatching(/^worker-dies on redis-list: order/)]);
}, 120_000);

test('the final rung loses nothing and doubles nothing at any hop', async () => {
  const { hops: played = [] } = await play({ rungs: ['lua-stream'], hops });
  expect(played.map(({ hop }) => hop)).toEqual(hops);
  for (const hop of played) expect(hop).toMatchObject({ twice: 0, never: 0, stuck: 0 });
  expect(played.filter(({ accepted }) => accepted > 0)).toHaveLength(hops.length - 1);
}, 120_000);

test('an order that was recorded and not acknowledged is delivered again, and recorded once', async () => {
  const rungs = ['rabbitmq', 'redis-stream-group'];
  const { hops: played } = await play({ rungs, hops: ['worker-dies-after-commit'] });
  expect(played).toMatchObject(rungs.map(() => ({ accepted: 1, once: 1, twice: 0 })));
  for (const { seconds } of played ?? []) expect(seconds).toBeGreaterThan(0);
}, 120_000);
