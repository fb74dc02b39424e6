// A process that enters a critical section many times. Usage: node lock-contender.mjs <lock> <resource> <times>
// Prints "ready", waits for a line, and then prints one for each time: when it asked, the start and the end of the
// section, by the clock that all processes share.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig } from '../../dist/config.js';
import { Connections } from '../../dist/connections/connections.js';

const [lock, resource, times] = process.argv.slice(2);
const connections = new Connections(readConfig(), pino({ level: 'silent' }));
const { open } = await import(`../../dist/locks/${lock}.js`);
const opened = open(connections);
await connections.ready();
console.log('ready');
await once(process.stdin, 'data');
for (let time = 0; time < Number(times); time++) {
  const asked = process.hrtime.bigint();
  const lease = await opened.acquire(resource, { waitMs: 30_000 });
  const start = process.hrtime.bigint();
  await sleep(5);
  console.log(`${asked} ${start} ${process.hrtime.bigint()}`);
  await lease.release();
  await sleep(2); // So that it is somebody else's turn.
}
process.exit(0);
