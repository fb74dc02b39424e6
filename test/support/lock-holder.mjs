// A process that acquires locks, all at once. Usage: node lock-holder.mjs <resources as JSON, by
// rung> <leaseMs|default> <waitMs>. Prints one line of JSON: for each rung "held", "not in time" or
// the message of an error. It holds what it got until it is killed.
import { openLocks } from './open-locks.mjs';

const [resources, leaseMs, waitMs] = process.argv.slice(2);
const byRung = JSON.parse(resources);
const locks = await openLocks(Object.keys(byRung));
const options = {
  waitMs: Number(waitMs),
  ...(leaseMs !== 'default' && { leaseMs: Number(leaseMs) }),
};
const answers = Object.entries(byRung).map(async ([rung, resource]) => {
  const lease = await locks[rung].acquire(resource, options).catch((error) => error);
  return [rung, lease instanceof Error ? lease.message : lease ? 'held' : 'not in time'];
});
console.log(JSON.stringify(Object.fromEntries(await Promise.all(answers))));
setInterval(() => {}, 1_000);
