/** The parts that the routes share: opened once by the process, used by every request. */
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { type OpenRung, rungOpener } from '../ladder/open-rung.ts';
import { allowedRungs } from '../ladder/rungs.ts';
import { openOrderIds } from '../order-ids/open-order-ids.ts';
import type { OrderIds } from '../order-ids/order-ids.ts';
import { openVouchers, type Vouchers } from '../purchase/vouchers.ts';

export interface Service {
  readonly connections: Connections;
  readonly log: Logger;
  /** A header of every answer. */
  readonly instance: string;
  readonly vouchers: Vouchers;
  /** The rungs that this deployment sells by. */
  readonly allowedRungs: ReadonlySet<string>;
  readonly openRung: (voucher: { readonly rung: string }) => Promise<OpenRung>;
  readonly orderIds: OrderIds;
  /** False while starting and while stopping: /readyz then answers 503. */
  isOpen(): boolean;
}

/** @throws UnknownRung for a misspelt name in ALLOWED_RUNGS */
export async function openService(
  connections: Connections,
  log: Logger,
  instance: string,
  isOpen: () => boolean,
): Promise<Service> {
  const allowed = new Set<string>(allowedRungs(connections.config.ALLOWED_RUNGS));
  connections.redis('admin');
  connections.redis('purchase');
  connections.mysql();
  await connections.ready();
  const onReleaseFailed = (error: unknown) =>
    log.warn({ event: 'release-failed', error: String(error) });
  return {
    ...{ connections, log, instance, isOpen },
    vouchers: openVouchers(connections),
    allowedRungs: allowed,
    openRung: rungOpener(connections, { onReleaseFailed }),
    orderIds: await openOrderIds(connections, log),
  };
}
