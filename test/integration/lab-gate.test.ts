/** The gate of the races: for requests with a valid token only, and without traces in Redis. */
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { keptSeconds, laneKeys } from '../../src/lab/stage/lane-messages.ts';
import { call, putOnSale, tokenFor } from '../support/client.ts';
import { testConnections } from '../support/connections.ts';
import { theLab } from '../support/own-lab.ts';

theLab();

const requests = 40;
const lane = (race: string) => ({ 'x-lab-lane': `${race}:A` });

test('a request without a valid token opens no connection and pauses nowhere', async () => {
  const redis = testConnections().labRedis();
  await waitUntil('the connection', 20_000, () => redis.status === 'ready');
  const voucherId = await putOnSale();
  const connections = async () =>
    Number(/total_connections_received:(\d+)/.exec(await redis.info('stats'))?.[1]);
  const race = randomUUID();
  const before = await connections();
  const path = `/vouchers/${voucherId}/orders`;
  for (let request = 0; request < requests; request++) {
    const token = request % 2 === 0 ? {} : { token: 'nonsense' };
    const answer = await call(path, { method: 'POST', headers: lane(race), ...token });
    expect(answer.status).toBe(401);
    expect((await call('/livez', { headers: lane(race), ...token })).status).toBe(200);
  }
  expect((await connections()) - before).toBeLessThan(requests / 2);
  expect(await redis.exists(laneKeys.arrivals(race))).toBe(0);
});

test('the messages of a race expire', async () => {
  const connections = testConnections();
  const redis = connections.labRedis();
  await waitUntil('the connection', 20_000, () => redis.status === 'ready');
  const player = connections.newLabRedis();
  onTestFinished(() => player.disconnect());
  const voucherId = await putOnSale({ rung: 'stock-positive', stock: 1 });
  const race = randomUUID();
  let isAnswered = false;
  const buying = call(`/vouchers/${voucherId}/orders`, {
    method: 'POST',
    token: await tokenFor('7'),
    headers: lane(race),
  }).finally(() => {
    isAnswered = true;
  });
  const arrivals = laneKeys.arrivals(race);
  const moved = `${arrivals}:seen`;
  let places = 0;
  while (!isAnswered) {
    // Looked at in its place: an element that is taken leaves no key that could expire.
    if (!(await redis.exists(arrivals))) continue;
    const seconds = await redis.ttl(arrivals);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(keptSeconds);
    await redis.rename(arrivals, moved);
    await redis.rpush(laneKeys.resume(race, 'A'), 'resume');
    places += 1;
  }
  expect((await buying).status).toBe(201);
  expect(places).toBeGreaterThan(0);
});
