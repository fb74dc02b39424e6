// A process that enters a critical section of each lock many times, all locks at once. Usage: node
// lock-contender.mjs <resources as JSON, by rung> <times>. Prints "ready", waits for a line, then
// prints one line for each section: the rung, when it asked, when the section began and when it
// ended, by the clock that all processes share.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLocks } from './open-locks.mjs';

const [resources, times] = process.argv.slice(2);
const byRung = JSON.parse(resources);
const locks = await openLocks(Object.keys(byRung));
console.log('ready');
await once(process.stdin, 'data');
await Promise.all(Object.entries(byRung).map(enter));
process.exit(0);

async function enter([rung, resource]) {
  for (let time = 0; time < Number(times); time++) {
    const asked = process.hrtime.bigint();
    const lease = await acquire(locks[rung], resource);
    const start = process.hrtime.bigint();
    await sleep(5);
    console.log(`${rung} ${asked} ${start} ${process.hrtime.bigint()}`);
    await lease.release();
    await sleep(10); // Longer than a section: one that asks now and then finds the lock free.
  }
}

/** Again and again: a lock that loses a wake-up must not keep its contender out for good. */
async function acquire(lock, resource) {
  for (;;) {
    const lease = await lock.acquire(resource, { waitMs: 2_000 });
    if (lease) return lease;
  }
}
