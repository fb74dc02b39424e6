/** What one instance takes: tries of a user in a second, and purchases at once. */
import { expect, test } from 'vitest';
import { openProcess, ownStores } from '../support/own-stores.ts';
import { ownPorts } from '../support/servers.ts';
import { deploy } from '../support/service-process.ts';

async function limitedService(settings: Readonly<Record<string, string>>) {
  const stores = await ownStores();
  const metrics = await ownPorts(19_960, 4);
  const { onSale, post } = await deploy({
    ...{ ...stores, ALLOWED_RUNGS: 'all', LAB: '1' },
    ...{ METRICS_PORT: String(metrics), ...settings },
  });
  const ask = (what: string) => async (voucherId: string, user: number) => {
    const answer = await post(`/vouchers/${voucherId}/${what}`, user);
    const { code } = (await answer.json()) as { code?: string };
    return { status: answer.status, headers: answer.headers, code };
  };
  const turnedAway = async () =>
    (await (await fetch(`http://127.0.0.1:${metrics + 1}/metrics`)).text())
      .split('\n')
      .filter((line) => line.startsWith('lockstep_purchases_turned_away_total'));
  return { stores, onSale, buy: ask('orders'), askForPlace: ask('place'), turnedAway };
}

test('a user who tries, or asks for a place, too often is told when to come again; others go on', async () => {
  const { stores, onSale, buy, askForPlace, turnedAway } = await limitedService({
    USER_TRIES_PER_SECOND: '3',
  });
  const [voucherId, line] = [await onSale({ stock: 10 }), await onSale({ passesAtOnce: 1 })];
  const tooOften = async (ask: () => ReturnType<typeof buy>) => {
    const answers = await Promise.all(Array.from({ length: 20 }, ask));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0); // How many depends on how long twenty requests take.
    expect(refused.length).toBeLessThan(20);
    expect(refused[0]?.code).toBe('too-many-requests');
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
    expect(refused[0]?.headers.get('ratelimit-policy')).toBe('"user";q=3;w=1');
    expect(refused[0]?.headers.get('ratelimit')).toBe('"user";r=0;t=1');
    return { answers, count: refused.length };
  };
  const tries = await tooOften(() => buy(voucherId, 7));
  expect(tries.answers.filter(({ status }) => status === 202)).toHaveLength(1);
  expect((await buy(voucherId, 8)).status).toBe(202);
  const connections = await openProcess(stores);
  const { buyers } = connections.saleKeys.of(voucherId);
  expect(await connections.redis('admin').hlen(buyers(voucherId))).toBe(2);
  const asked = await tooOften(() => askForPlace(line, 9));
  expect((await askForPlace(line, 10)).status).toBe(200);
  const count = tries.count + asked.count;
  expect(await turnedAway()).toEqual([
    `lockstep_purchases_turned_away_total{code="too-many-requests",process="api-1"} ${count}`,
    'lockstep_purchases_turned_away_total{code="overloaded",process="api-1"} 0',
    'lockstep_purchases_turned_away_total{code="pass-required",process="api-1"} 0',
  ]);
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
