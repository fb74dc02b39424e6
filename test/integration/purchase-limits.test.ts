/** What one instance takes: tries of a user in a second, and purchases at once. */
import { expect, onTestFinished, test } from 'vitest';
import { call, deploymentSecret, putOnSale, tokenFor } from '../support/client.ts';
import { ownPorts } from '../support/own-ports.ts';
import { openProcess, ownStores } from '../support/own-stores.ts';
import { startService } from '../support/service-process.ts';

const entry = new URL('../../dist/bin/service.js', import.meta.url).pathname;

async function limitedService(settings: Readonly<Record<string, string>>) {
  const stores = await ownStores();
  const metrics = await ownPorts(19_960, 4);
  const { baseUrl, stop } = await startService(entry, {
    ...{ ...stores, TOKEN_SECRET: deploymentSecret, ALLOWED_RUNGS: 'all', LAB: '1' },
    ...{ METRICS_PORT: String(metrics), ...settings },
  });
  onTestFinished(async () => void (await stop()));
  const token = await tokenFor('1', 'operator', deploymentSecret);
  const onSale = (sale: Readonly<Record<string, unknown>>) => putOnSale(sale, { baseUrl, token });
  const post = async (path: string, user: number) => {
    const token = await tokenFor(String(user), 'user', deploymentSecret);
    const answer = await call(path, { method: 'POST', token, baseUrl });
    const { code } = (await answer.json()) as { code?: string };
    return { status: answer.status, headers: answer.headers, code };
  };
  const buy = (voucherId: string, user: number) => post(`/vouchers/${voucherId}/orders`, user);
  const askForPlace = (voucherId: string, user: number) =>
    post(`/vouchers/${voucherId}/place`, user);
  const turnedAway = async () =>
    (await (await fetch(`http://127.0.0.1:${metrics + 1}/metrics`)).text())
      .split('\n')
      .filter((line) => line.startsWith('lockstep_purchases_turned_away_total'));
  return { stores, onSale, buy, askForPlace, turnedAway };
}

test('a user who tries too often is told when to come again, and others buy', async () => {
  const { stores, onSale, buy, turnedAway } = await limitedService({
    USER_TRIES_PER_SECOND: '3',
  });
  const voucherId = await onSale({ stock: 10 });
  const tries = await Promise.all(Array.from({ length: 20 }, () => buy(voucherId, 7)));
  const refused = tries.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0); // How many depends on how long twenty requests take.
  expect(refused[0]?.code).toBe('too-many-requests');
  expect(refused[0]?.headers.get('retry-after')).toBe('1');
  expect(refused[0]?.headers.get('ratelimit-policy')).toBe('"user";q=3;w=1');
  expect(refused[0]?.headers.get('ratelimit')).toBe('"user";r=0;t=1');
  expect(tries.filter(({ status }) => status === 202)).toHaveLength(1);
  expect((await buy(voucherId, 8)).status).toBe(202);
  const connections = await openProcess(stores);
  const { buyers } = connections.saleKeys.of(voucherId);
  expect(await connections.redis('admin').hlen(buyers(voucherId))).toBe(2);
  expect(await turnedAway()).toEqual([
    `lockstep_purchases_turned_away_total{code="too-many-requests",process="api-1"} ${refused.length}`,
    'lockstep_purchases_turned_away_total{code="overloaded",process="api-1"} 0',
    'lockstep_purchases_turned_away_total{code="pass-required",process="api-1"} 0',
  ]);
});

test('a user who asks for a place too often is told when to come again, and others wait', async () => {
  const { onSale, askForPlace, turnedAway } = await limitedService({ USER_TRIES_PER_SECOND: '3' });
  const voucherId = await onSale({ passesAtOnce: 1 });
  const asked = await Promise.all(Array.from({ length: 20 }, () => askForPlace(voucherId, 7)));
  const refused = asked.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(20);
  expect(refused[0]?.headers.get('ratelimit-policy')).toBe('"user";q=3;w=1');
  expect((await askForPlace(voucherId, 8)).status).toBe(200);
  expect((await turnedAway())[0]).toMatch(new RegExp(`"too-many-requests".* ${refused.length}$`));
});

test('a purchase above the bound is refused at once, and sells nothing', async () => {
  const { onSale, buy, turnedAway } = await limitedService({ PURCHASES_AT_ONCE: '1' });
  const slow = { rung: 'stock-positive', stock: 10, lab: { workMs: 2_000 } };
  const voucherId = await onSale(slow);
  const both = await Promise.all([buy(voucherId, 7), buy(voucherId, 8)]);
  expect(both.map(({ status }) => status).sort()).toEqual([201, 503]);
  const refused = both.find(({ status }) => status === 503);
  expect(refused?.code).toBe('overloaded');
  expect(refused?.headers.get('retry-after')).toBe('1');
  expect((await buy(voucherId, 9)).status).toBe(201);
  expect(await turnedAway()).toContain(
    'lockstep_purchases_turned_away_total{code="overloaded",process="api-1"} 1',
  );
});
