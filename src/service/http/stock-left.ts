/** The stock that is left of each voucher, as it was within the last second. */
import { LRUCache } from 'lru-cache';
import { isStoreUnavailable } from '../connections/store-errors.ts';
import type { Voucher } from '../domain.ts';
import type { OpenRung } from '../ladder/open-rung.ts';

type RungOpener = (voucher: Pick<Voucher, 'rung'>) => OpenRung | Promise<OpenRung>;

/** Null when the store of the stock does not know it, or does not answer. */
export type StockLeft = (voucher: Voucher) => Promise<number | null>;

const keptMs = 1_000;

/** Read now, where it is sold: in Redis or in MySQL, as its rung does. */
export async function stockLeftNow(openRung: RungOpener, voucher: Voucher): Promise<number | null> {
  const { inventory } = await openRung(voucher);
  return inventory.remaining(voucher).catch((error: unknown) => {
    if (isStoreUnavailable(error)) return null;
    throw error;
  });
}

/** Anybody may ask: each instance asks a store about a voucher once in a second. */
export function openStockLeft(openRung: RungOpener): StockLeft {
  const known = new LRUCache<string, Promise<number | null>>({ max: 10_000, ttl: keptMs });
  return (voucher) => {
    const left = known.get(voucher.id) ?? stockLeftNow(openRung, voucher);
    if (!known.has(voucher.id)) known.set(voucher.id, left);
    return left;
  };
}
