/** The purchases of a voucher, by the bucket that each user is sent to first. */
import type { SaleKeys } from '../../service/connections/sale-keys.ts';
import type { Purchase } from './steady-purchases.ts';

export function byBucket(
  keys: SaleKeys,
  purchases: readonly Purchase[],
  buckets: number,
): Purchase[][] {
  const bucketOf = ({ voucherId, userId }: Purchase) => keys.bucketOf(voucherId, userId, buckets);
  return keys
    .bucketsOf(purchases[0]?.voucherId ?? '', buckets)
    .map((bucket) => purchases.filter((each) => bucketOf(each) === bucket));
}
