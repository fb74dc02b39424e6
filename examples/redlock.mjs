// The same on three masters that know nothing of each other: it holds while two of them answer.
import { Redis } from 'ioredis';
import { redlockLock } from 'lockstep/locks';

const urls = (process.env.REDIS_URLS ?? 'redis://127.0.0.1:6379').split(',');
const masters = urls.map((url) => new Redis(url));
const lock = redlockLock(masters, { keyPrefix: 'shop:lock:', leaseMs: 5_000 });

const lease = await lock.acquire('voucher:9', { waitMs: 1_000 });
console.log(lease ? `granted for ${Math.round(lease.remainingMs() / 1_000)} s` : 'busy');
await lease?.release();
for (const master of masters) master.disconnect();
