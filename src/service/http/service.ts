/** The parts that all routes share. The process opens them once, and every request uses them. */

import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { auditInParts, type VoucherAudit } from '../audit/audit-in-parts.ts';
import type { Connections } from '../connections/connections.ts';
import { isStoreUnavailable } from '../connections/store-errors.ts';
import type { Voucher } from '../domain.ts';
import { type RungOf, rungOpener } from '../ladder/open-rung.ts';
import { allowedRungs } from '../ladder/rungs.ts';
import { openOrderIds } from '../order-ids/open-order-ids.ts';
import type { OrderIds } from '../order-ids/order-ids.ts';
import { openVouchers, type Vouchers } from '../purchase/vouchers.ts';
import { type PurchaseLimits, purchaseLimits } from './purchase-limits.ts';
import { type ReadToken, tokenReader } from './tokens.ts';
import { openWaitingRoom, type WaitingRoom } from './waiting-room.ts';

export interface Service {
  readonly connections: Connections;
  readonly log: Logger;
  /** The instance's name, sent with every answer as X-Instance. */
  readonly instance: string;
  readonly vouchers: Vouchers;
  /** The rungs that vouchers of this deployment may have. */
  readonly allowedRungs: ReadonlySet<string>;
  readonly rungOf: RungOf;
  readonly orderIds: OrderIds;
  readonly stockLeft: StockLeft;
  readonly waitingRoom: WaitingRoom;
  readonly limits: PurchaseLimits;
  readonly readToken: ReadToken;
  /** Of a voucher; null when there is no such voucher. */
  readonly auditOf: (voucherId: string) => Promise<VoucherAudit | null>;
  /** False while stopping: /readyz then answers 503. */
  isOpen(): boolean;
}

/** @throws UNKNOWN_RUNG when ALLOWED_RUNGS has a name that is no rung. */
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
  const rungOf = rungOpener(connections, { onReleaseFailed });
  return {
    connections,
    log,
    instance,
    isOpen,
    vouchers: openVouchers(connections),
    allowedRungs: allowed,
    rungOf,
    orderIds: await openOrderIds(connections, log),
    stockLeft: openStockLeft(rungOf),
    waitingRoom: openWaitingRoom(connections),
    limits: purchaseLimits(connections.config),
    readToken: tokenReader(connections.config, (error) =>
      log.error({ event: 'token-keys-unavailable', error }),
    ),
    auditOf: (voucherId) => auditInParts(connections, voucherId),
  };
}

/**
 * What is left of a voucher, as it was within the last second. Null when the store of the stock
 * does not know it, or does not answer.
 */
type StockLeft = (voucher: Voucher) => Promise<number | null>;

const keptMs = 1_000;

/** Read now, where it is sold: in Redis or in MySQL, as its rung does. */
export async function stockLeftNow(rungOf: RungOf, voucher: Voucher): Promise<number | null> {
  const { inventory } = await rungOf(voucher);
  return inventory.remaining(voucher).catch((error: unknown) => {
    if (isStoreUnavailable(error)) return null;
    throw error;
  });
}

/** Anybody may ask: each instance asks a store about a voucher once in a second. */
function openStockLeft(rungOf: RungOf): StockLeft {
  const known = new LRUCache<string, Promise<number | null>>({ max: 10_000, ttl: keptMs });
  return (voucher) => {
    const left = known.get(voucher.id) ?? stockLeftNow(rungOf, voucher);
    if (!known.has(voucher.id)) known.set(voucher.id, left);
    return left;
  };
}
