/** Requests for faults, served over a real Redis while an experiment has the lab. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { acceptsFaults, askFault } from '../../src/lab/by-hand/asked-faults.ts';
import { FaultRequests } from '../../src/lab/by-hand/fault-requests.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Stage } from '../../src/lab/stage/stage.ts';
import { testConnections } from '../support/connections.ts';
import { startOwnRedis } from '../support/servers.ts';

/** Longer than Redis keeps the key that says that requests are served. */
const healMs = 4_000;

test('an experiment that heals for a long time still serves the next request', async () => {
  const { url } = await startOwnRedis();
  const connections = testConnections({ REDIS_URL: url });
  const redis = connections.labRedis();
  await connections.ready();
  const stopped = new AbortController();
  onTestFinished(() => stopped.abort());
  const lab = { heal: () => sleep(healMs) };
  const stage = { signal: stopped.signal, connections, lab } as unknown as Stage;
  const taking = new FaultRequests(stage).serveUntil(() => false);
  await waitUntil('an experiment that serves requests', 20_000, () => acceptsFaults(redis));
  const healing = askFault(redis, { verb: 'heal', server: '', ms: 0 });
  let isHealing = true;
  void healing.finally(() => {
    isHealing = false;
  });
  while (isHealing) {
    expect(await acceptsFaults(redis)).toBe(true);
    await sleep(50);
  }
  expect((await healing).en).toMatch(/Every server/);
  expect((await askFault(redis, { verb: 'end', server: '', ms: 0 })).en).toMatch(/ends/);
  await taking;
  await sleep(600); // It would have said again that it is there.
  expect(await acceptsFaults(redis)).toBe(false);
});
