// A process that acquires locks of the ladder, all at once, by the names of rungs that have them;
// `none` is no lock. Usage: node lock-process.mjs <resources as JSON, by rung>, and then:
// `enter <times>` enters a critical section of each many times. It prints "ready", waits for a
// line, then prints one line for each section: the rung, when it asked, when the section began and
// when it ended, by the clock that all processes share.
// `hold <leaseMs|default> <waitMs>` prints one line of JSON: for each rung "held", "not in time" or
// the message of an error. It holds what it got until it is killed.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig } from '../../dist/service/config.js';
import { Connections } from '../../dist/service/connections/connections.js';
import { ladder } from '../../dist/service/ladder/rungs.js';
import { noLock } from '../../dist/service/locks/none.js';

const [resources, task, ...options] = process.argv.slice(2);
const byRung = JSON.parse(resources);
const connections = new Connections(readConfig(), pino({ level: 'silent' }));
const open = (name) => (name === 'none' ? noLock() : ladder[name].lock(connections));
const locks = Object.fromEntries(Object.keys(byRung).map((name) => [name, open(name)]));
await connections.ready();
if (task === 'enter') await enterAll(Number(options[0]));
else await holdAll(...options);

async function enterAll(times) {
  console.log('ready');
  await once(process.stdin, 'data');
  const enter = ([rung, resource]) => enterOne(rung, resource, times);
  await Promise.all(Object.entries(byRung).map(enter));
  process.exit(0);
}

async function enterOne(rung, resource, times) {
  for (let time = 0; time < times; time++) {
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

async function holdAll(leaseMs, waitMs) {
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
}
