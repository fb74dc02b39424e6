/** What the routes work with: opened once by the process, used by every request. */

import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { rungNamed } from '../ladder.ts';
import { openOrderIds } from '../orders/ids/open.ts';
import type { OrderIds } from '../orders/ids/order-ids.ts';
import { type OpenRungs, openRungs } from '../purchase/open-rungs.ts';
import { openVouchers, type Vouchers } from '../purchase/vouchers.ts';

export interface Service {
  readonly connections: Connections;
  readonly log: Logger;
  /** Named in every answer. */
  readonly instance: string;
  readonly vouchers: Vouchers;
  readonly rungs: OpenRungs;
  readonly orderIds: OrderIds;
  /** False while starting and while stopping: /readyz then answers 503. */
  isOpen(): boolean;
}

export async function openService(
  connections: Connections,
  log: Logger,
  instance: string,
  isOpen: () => boolean,
): Promise<Service> {
  for (const rung of connections.config.ALLOWED_RUNGS) rungNamed(rung); // A misspelt one must not wait for its first sale.
  connections.redis('admin');
  connections.redis('purchase');
  connections.mysql();
  await connections.ready();
  const rungs = openRungs(connections, (error) =>
    log.warn({ event: 'release-failed', error: String(error) }),
  );
  const orderIds = await openOrderIds(connections, log);
  return { connections, log, instance, vouchers: openVouchers(connections), rungs, orderIds, isOpen };
}
