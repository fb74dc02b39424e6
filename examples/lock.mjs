// One sale at a time for each user, in however many processes. The lease is renewed while it works.
import { Redis } from 'ioredis';
import { redisReentrantLock, using } from 'lockstep/locks';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const lock = redisReentrantLock(redis, { keyPrefix: 'shop:lock:' });

const sold = await using(lock, 'user:7', { waitMs: 1_000 }, async (lease) => {
  // Your work is here.
  lease.assertHeld(); // Right before you commit: it throws when another owner may have the lock.
  return 'sold';
});
console.log(sold ?? 'busy');
redis.disconnect();
