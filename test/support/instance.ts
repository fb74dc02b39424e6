/** An instance of the service in the test's own process, with vouchers and orders. */
import { expect, onTestFinished } from 'vitest';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { Voucher } from '../../src/service/domain.ts';
import { createApp } from '../../src/service/http/app.ts';
import type { App } from '../../src/service/http/openapi.ts';
import { openService } from '../../src/service/http/service.ts';
import { recordOne } from '../../src/service/orders/record-orders.ts';
import { tokenFor } from './client.ts';
import { quiet, quietRedis, testConnections } from './connections.ts';
import { ownLab } from './own-lab.ts';
import { someOrder, someVoucher } from './sale.ts';
import { proxyBefore } from './test-proxy.ts';

export interface Instance {
  readonly app: App;
  /** A voucher that this instance has in memory, and one that it has not. */
  readonly known: string;
  readonly cold: string;
  /** The order of user 7, which is queued, and that of user 9, which MySQL has. */
  readonly order: string;
  readonly recorded: string;
}

/** An instance on these connections; what it holds besides them is closed with the test. */
export async function openInstance(connections: Connections) {
  const service = await openService(connections, quiet, 'api-1', () => true);
  onTestFinished(() => service.orderIds.close());
  return { service, app: createApp(service) };
}

/** An instance whose stores are behind proxies; the store is cut off after everything is set up. */
export async function instanceWithout(
  store: 'MySQL' | 'Redis' | 'nothing',
  changes: Partial<Voucher> = {},
): Promise<Instance> {
  const proxies = {
    MySQL: await proxyBefore(ownLab.environment['MYSQL_URL'] ?? ''),
    Redis: await proxyBefore(quietRedis()),
  };
  const stores = { MYSQL_URL: proxies.MySQL.url, REDIS_URL: proxies.Redis.url };
  const connections = testConnections({ ...stores, ORDER_DURABILITY: 'everysec' });
  const { service, app } = await openInstance(connections);
  const onSale = async () => {
    const voucher = await someVoucher(connections, { stock: 5, ...changes });
    await (await service.rungOf(voucher)).inventory.prepare(voucher);
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
  if (store !== 'nothing') proxies[store].cut();
  // Until the client has heard of it, a purchase is sent, and its outcome is unknown.
  if (store === 'Redis')
    await expect.poll(() => connections.redis('purchase').status).not.toBe('ready');
  return { app, known, cold, order, recorded: recorded.id };
}
