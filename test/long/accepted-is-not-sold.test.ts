/** The short form of the drill: two kills on some queues, and every hop on the final rung. */
import { expect, test } from 'vitest';
import {
  acceptedIsNotSold,
  acceptedShape,
  type Hop,
  hops,
  judgeHops,
  tryQueues,
} from '../../src/lab/drills/accepted-is-not-sold.ts';
import type { Drill } from '../../src/lab/drills/drill.ts';
import type { RaceName } from '../../src/lab/play/schedules.ts';
import { resultText } from '../../src/lab/report/result-text.ts';
import { expectHeld, playIn } from '../support/judged-drill.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab(acceptedShape);

async function play(rungs: readonly string[], names: readonly RaceName[]) {
  const played: Hop[] = [];
  const some: Drill = {
    ...acceptedIsNotSold,
    async play(stage) {
      const plays = await tryQueues(stage, rungs, names);
      played.push(...plays.map(({ hop }) => hop));
      return judgeHops(plays);
    },
  };
  const result = await playIn(lab(), some, { seed: 1, minutes: 0.1 });
  expectHeld(result);
  const text = resultText(result);
  expect(text.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
  return { played, asClaimed: result.asClaimed };
}

test('a killed worker loses the order of a list, and none of a queue that acknowledges', async () => {
  const rungs = ['redis-list', 'redis-list-reliable', 'bullmq-5s'];
  const { played, asClaimed } = await play(rungs, ['worker-dies']);
  const lost = { accepted: 1, once: 0, twice: 0, never: 1, stuck: 1, seconds: null };
  const kept = { accepted: 1, once: 1, twice: 0, never: 0, stuck: 0 };
  expect(played).toMatchObject([lost, kept, kept]);
  expect(asClaimed).toMatchObject([
    { en: expect.stringMatching(/^worker-dies on redis-list: order/) },
  ]);
}, 320_000);

test('the final rung loses nothing and doubles nothing at any hop', async () => {
  const { played } = await play(['lua-stream'], hops);
  expect(played.map(({ hop }) => hop)).toEqual(hops);
  for (const hop of played) expect(hop).toMatchObject({ twice: 0, never: 0, stuck: 0 });
  expect(played.filter(({ accepted }) => accepted > 0)).toHaveLength(hops.length - 1);
}, 320_000);

test('an order that was recorded and not acknowledged is delivered again, and recorded once', async () => {
  const rungs = ['rabbitmq', 'redis-stream-group'];
  const { played } = await play(rungs, ['worker-dies-after-commit']);
  expect(played).toMatchObject(rungs.map(() => ({ accepted: 1, once: 1, twice: 0 })));
  for (const { seconds } of played) expect(seconds).toBeGreaterThan(0);
}, 320_000);
