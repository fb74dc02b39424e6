// A process that enters a critical section many times. Usage: node lock-contender.mjs <rung>
// <resource> <times> Prints "ready", waits for a line, then prints one line for each section: when
// it asked, when the section began and when it ended, by the clock that all processes share.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLock } from './open-lock.mjs';

const [rung, resource, times] = process.argv.slice(2);
const lock = await openLock(rung);
console.log('ready');
await once(process.stdin, 'data');
for (let time = 0; time < Number(times); time++) {
  const asked = process.hrtime.bigint();
  const lease = await acquire();
  const start = process.hrtime.bigint();
  await sleep(5);
  console.log(`${asked} ${start} ${process.hrtime.bigint()}`);
  await lease.release();
  await sleep(10); // Longer than a section: one that asks now and then finds the lock free.
}
process.exit(0);

/** Again and again: a lock that loses a wake-up must not keep its contender out for good. */
async function acquire() {
  for (;;) {
    const lease = await lock.acquire(resource, { waitMs: 2_000 });
    if (lease) return lease;
  }
}
