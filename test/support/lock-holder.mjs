// A process that acquires a lock. Usage: node lock-holder.mjs <rung> <resource> <leaseMs|default>
// <waitMs> Prints "held" and holds the lock until it is killed, or prints "not in time".
import { openLock } from './open-lock.mjs';

const [rung, resource, leaseMs, waitMs] = process.argv.slice(2);
const lock = await openLock(rung);
const lease = await lock.acquire(resource, {
  waitMs: Number(waitMs),
  ...(leaseMs !== 'default' && { leaseMs: Number(leaseMs) }),
});
console.log(lease ? 'held' : 'not in time');
if (!lease) process.exit(0);
setInterval(() => {}, 1_000);
