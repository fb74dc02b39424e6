/** A hand that breaks and mends servers, on a real Redis: somebody asks, and it is done. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { askFault, takesFaults } from '../../src/lab/by-hand/asked-faults.ts';
import { Hand } from '../../src/lab/by-hand/hand.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Stage } from '../../src/lab/stage/stage.ts';
import { testConnections } from '../support/connections.ts';
import { startOwnRedis } from '../support/own-redis.ts';

/** Longer than the word of a hand is kept that it is there. */
const healMs = 4_000;

test('a hand that mends for a long time still takes what is asked next', async () => {
  const { url } = await startOwnRedis();
  const connections = testConnections({ REDIS_URL: url });
  const redis = connections.labRedis();
  await connections.ready();
  const stopped = new AbortController();
  onTestFinished(() => stopped.abort());
  const lab = { heal: () => sleep(healMs) };
  const stage = { signal: stopped.signal, connections, lab } as unknown as Stage;
  const taking = new Hand(stage).takeUntil(() => false);
  await waitUntil('the hand', 5_000, () => takesFaults(redis));
  const healing = askFault(redis, { verb: 'heal', server: '', ms: 0 });
  let isHealing = true;
  void healing.finally(() => {
    isHealing = false;
  });
  while (isHealing) {
    expect(await takesFaults(redis)).toBe(true);
    await sleep(50);
  }
  expect(await healing).toMatch(/Every server/);
  expect(await askFault(redis, { verb: 'end', server: '', ms: 0 })).toMatch(/ends/);
  await taking;
  await sleep(600); // It would have said again that it is there.
  expect(await takesFaults(redis)).toBe(false);
});
