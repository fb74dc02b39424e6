// A process that enters a critical section many times. Usage: node lock-contender.mjs <lock> <resource> <times>
// Prints one line for each time: the start and the end of the section, by the clock that all processes share.
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig } from '../../dist/config.js';
import { Connections } from '../../dist/connections/connections.js';

const [lock, resource, times] = process.argv.slice(2);
const connections = new Connections(readConfig(), pino({ level: 'silent' }));
const { open } = await import(`../../dist/locks/${lock}.js`);
const opened = open(connections);
await connections.ready();
for (let time = 0; time < Number(times); time++) {
  const lease = await opened.acquire(resource, { waitMs: 30_000 });
  const start = process.hrtime.bigint();
  await sleep(5);
  console.log(`${start} ${process.hrtime.bigint()}`);
  await lease.release();
}
process.exit(0);
