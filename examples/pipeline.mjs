// Sells a voucher once to a user, and takes the orders in batches until each is kept.
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { clientOptions, salePipeline } from 'lockstep/pipeline';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', clientOptions);
const pipeline = salePipeline(redis, { keyPrefix: 'shop:' });
const beginTime = new Date();
const endTime = new Date(beginTime.getTime() + 60_000);
const sale = { id: String(beginTime.getTime()), stock: 100, beginTime, endTime };
await pipeline.prepare(sale);

const id = String(randomBytes(8).readBigUInt64BE() >> 1n);
const order = { id, voucherId: sale.id, userId: '7', requestId: 'first' };
console.log((await pipeline.sell(order, sale)).kind); // accepted: the stream has it.

const stop = new AbortController();
const keep = async (deliveries) => {
  // Insert them here. A row with the same order id is the same order: it was delivered again.
  for (const { order } of deliveries) console.log(`user ${order.userId}`);
  stop.abort();
  return new Set(deliveries.map(({ order }) => order.id)); // The others are delivered again.
};
await pipeline.consume(keep, stop.signal);
redis.disconnect();
