/**
 * What each route answers while a store is away, or has lost its data: never "internal error", and
 * never an answer that claims more than the remaining store knows.
 */
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import type { App } from '../../src/http/openapi.ts';
import { openService } from '../../src/http/service.ts';
import { recordOne } from '../../src/orders/record-orders.ts';
import { openSale, tokenFor } from '../support/client.ts';
import { openConnections, quiet, quietRedis } from '../support/connections.ts';
import { someOrder, someVoucher } from '../support/sale.ts';
import { type SwallowingProxy, swallowingProxy } from '../support/swallowing-proxy.ts';

interface Away {
  readonly app: App;
  /** A voucher that this instance has in memory, and one that it has not. */
  readonly known: string;
  readonly cold: string;
  /** The order of user 7, which is queued, and that of user 9, which MySQL has. */
  readonly order: string;
  readonly recorded: string;
}

/** An instance whose stores are behind proxies; the store is cut off after everything is set up. */
async function instanceWithout(store: 'MySQL' | 'Redis'): Promise<Away> {
  const mysqlUrl = new URL(inject('environment')['MYSQL_URL'] ?? '');
  const redisUrl = new URL(quietRedis());
  const proxies: Record<'MySQL' | 'Redis', SwallowingProxy> = {
    MySQL: await swallowingProxy(Number(mysqlUrl.port)),
    Redis: await swallowingProxy(Number(redisUrl.port)),
  };
  mysqlUrl.port = String(proxies.MySQL.port);
  redisUrl.port = String(proxies.Redis.port);
  const connections = openConnections({ MYSQL_URL: mysqlUrl.href, REDIS_URL: redisUrl.href });
  const service = await openService(connections, quiet, 'api-1', () => true);
  onTestFinished(async () => {
    service.orderIds.close();
    await connections.close();
  });
  const app = createApp(service);
  const onSale = async () => {
    const voucher = await someVoucher(connections, { stock: 5 });
    await (await service.openRung(voucher)).inventory.prepare(voucher);
    return voucher.id;
  };
  const known = await onSale();
  const cold = await onSale();
  await app.request(`/vouchers/${known}`);
  const bought = await app.request(`/vouchers/${known}/orders`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await tokenFor('7')}` },
  });
  const { id: order } = (await bought.json()) as { id: string };
  const recorded = someOrder(known, '9');
  const records = { pool: connections.mysql(), vouchers: service.vouchers };
  expect(await recordOne(records, recorded)).toBe('recorded');
  proxies[store].cut();
  return { app, known, cold, order, recorded: recorded.id };
}

/** Status, and the code of a problem. */
async function answer(app: App, method: string, path: string, user = '8'): Promise<string> {
  const headers = { authorization: `Bearer ${await tokenFor(user)}` };
  const response = await app.request(path, { method, headers });
  const body = (await response.json()) as { code?: string };
  return [response.status, body.code].filter(Boolean).join(' ');
}

describe('without MySQL', () => {
  test('a known voucher is sold and shown, with its remaining stock', async () => {
    const away = await instanceWithout('MySQL');
    expect(await answer(away.app, 'POST', `/vouchers/${away.known}/orders`)).toBe('202');
    expect(await answer(away.app, 'GET', `/vouchers/${away.known}`)).toBe('200');
  });

  test('an unknown voucher and the list are not ready', async () => {
    const away = await instanceWithout('MySQL');
    const notReady = '503 not-ready';
    expect(await answer(away.app, 'POST', `/vouchers/${away.cold}/orders`)).toBe(notReady);
    expect(await answer(away.app, 'GET', `/vouchers/${away.cold}`)).toBe(notReady);
    expect(await answer(away.app, 'GET', '/vouchers')).toBe(notReady);
  });

  test('a queued order is shown', async () => {
    const away = await instanceWithout('MySQL');
    expect(await answer(away.app, 'GET', `/orders/${away.order}`, '7')).toBe('200');
  });

  test('a recorded order is not ready, and not "unknown"', async () => {
    const away = await instanceWithout('MySQL');
    expect(await answer(away.app, 'GET', `/orders/${away.recorded}`, '9')).toBe('503 not-ready');
  });
});

describe('without Redis', () => {
  test('nothing is sold, and the purchase says that nothing was sent', async () => {
    const away = await instanceWithout('Redis');
    for (const voucher of [away.known, away.cold]) {
      const purchase = await answer(away.app, 'POST', `/vouchers/${voucher}/orders`);
      expect(purchase).toBe('503 not-ready');
    }
  });

  test('a voucher is shown without a remaining stock, and never as 0', async () => {
    const away = await instanceWithout('Redis');
    const response = await away.app.request(`/vouchers/${away.known}`);
    expect(response.status).toBe(200);
    expect(await response.json()).not.toHaveProperty('remaining');
  });

  test('the list of vouchers and a recorded order are shown', async () => {
    const away = await instanceWithout('Redis');
    expect(await answer(away.app, 'GET', '/vouchers')).toBe('200');
    expect(await answer(away.app, 'GET', `/orders/${away.recorded}`, '9')).toBe('200');
  });

  test('an order that MySQL does not have is not ready, and not "unknown"', async () => {
    const away = await instanceWithout('Redis');
    expect(await answer(away.app, 'GET', `/orders/${away.order}`, '7')).toBe('503 not-ready');
  });
});

describe('with a MySQL whose ids begin again', () => {
  test('a voucher is not created over the sale that Redis has under its id', async () => {
    const connections = openConnections({ REDIS_URL: quietRedis() });
    const redis = connections.redis('admin');
    const service = await openService(connections, quiet, 'api-1', () => true);
    onTestFinished(async () => {
      service.orderIds.close();
      await connections.close();
    });
    const app = createApp(service);
    const authorization = `Bearer ${await tokenFor('1', 'operator')}`;
    const create = async () => {
      const headers = { authorization, 'content-type': 'application/json' };
      const body = JSON.stringify(openSale({ stock: 2 }));
      const response = await app.request('/vouchers', { method: 'POST', headers, body });
      return { status: response.status, ...((await response.json()) as { id: string }) };
    };
    const taken = String(Number((await create()).id) + 1);
    const hash = connections.saleKeys.of(taken).voucher(taken);
    await redis.hset(hash, { stock: 100, beginMs: 0, endMs: Date.now() + 60_000 });
    expect(await create()).toMatchObject({ status: 503, code: 'not-ready' });
    expect(await answer(app, 'POST', `/vouchers/${taken}/orders`)).toBe('404 unknown-voucher');
    expect(await redis.hget(hash, 'stock')).toBe('100');
    expect((await create()).status).toBe(201);
    await redis.del(hash);
  });
});
