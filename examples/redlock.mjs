// The same on three masters that know nothing of each other: it holds while two of them answer.
// REDIS_URLS=redis://one:6379,redis://two:6379,redis://three:6379 node redlock.mjs
import { Redis } from 'ioredis';
import { redlockLock } from 'lockstep/locks';

const { REDIS_URL = 'redis://127.0.0.1:6379', REDIS_URLS = REDIS_URL } = process.env;
const masters = REDIS_URLS.split(',').map((url) => new Redis(url));
for (const master of masters) master.on('error', ({ message }) => console.error(message));
const lock = redlockLock(masters, { keyPrefix: 'shop:lock:', leaseMs: 5_000 });

try {
  const lease = await lock.acquire('voucher:9', { waitMs: 1_000 });
  console.log(lease ? `granted for ${Math.round(lease.remainingMs() / 1_000)} s` : 'busy');
  await lease?.release();
} catch (error) {
  console.error(error.message); // No majority of the masters answered.
  process.exitCode = 1;
} finally {
  for (const master of masters) master.disconnect();
}
