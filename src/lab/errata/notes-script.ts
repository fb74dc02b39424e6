/** The purchase script of the notes, with the keys of one voucher. */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

/** As in their last chapter: 0 bought, 1 sold out, 2 bought before. It declares no keys. */
export const notesScript = `
local voucherId, userId = ARGV[1], ARGV[2]
local stockKey, orderKey = 'seckill:stock:' .. voucherId, 'seckill:order:' .. voucherId
if (tonumber(redis.call('get', stockKey)) <= 0) then return 1 end
if (redis.call('sismember', orderKey, userId) == 1) then return 2 end
redis.call('incrby', stockKey, -1)
redis.call('sadd', orderKey, userId)
return 0`;

export interface NotesVoucher {
  readonly id: string;
  buy(user: string, by?: Redis): Promise<number>;
  stock(): Promise<string | null>;
  buyers(): Promise<number>;
}

/** Puts the stock into Redis, as the notes do, and removes it afterwards. */
export async function withNotesVoucher<T>(
  redis: Redis,
  stock: number,
  work: (voucher: NotesVoucher) => Promise<T>,
): Promise<T> {
  const id = `erratum-${randomUUID()}`;
  const [stockKey, buyersKey] = [`seckill:stock:${id}`, `seckill:order:${id}`];
  await redis.set(stockKey, stock);
  try {
    return await work({
      id,
      buy: async (user, by = redis) => Number(await by.eval(notesScript, 0, id, user)),
      stock: () => redis.get(stockKey),
      buyers: () => redis.scard(buyersKey),
    });
  } finally {
    await redis.del(stockKey, buyersKey);
  }
}
