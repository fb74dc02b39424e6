/**
 * The final rung's keys. All carry the hash tag {sale}, so one script may touch them together on Redis Cluster.
 */
export const saleKeys = {
  /** HASH stock, beginMs, endMs */
  voucher: (voucherId: string) => `{sale}:voucher:${voucherId}`,
  /** HASH user id → `order id:request id`. The one-order check and the idempotency record in one. */
  buyers: (voucherId: string) => `{sale}:buyers:${voucherId}`,
  /** STREAM of orders to record in MySQL. */
  orders: '{sale}:orders',
  /** HASH order id → `voucher id:user id`, for as long as the order is in the stream. */
  queued: '{sale}:queued',
  /** STREAM of orders that could not be recorded, with the reason. */
  dead: '{sale}:dead',
} as const;

export const orderGroup = 'recorders';
