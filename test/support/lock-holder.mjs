// A process that takes a lock and says so. Usage: node lock-holder.mjs <lock> <resource> <leaseMs|default> <waitMs>
// Prints "held" and holds until it is killed, or "not in time".
import { pino } from 'pino';
import { readConfig } from '../../dist/config.js';
import { Connections } from '../../dist/connections/connections.js';

const [lock, resource, leaseMs, waitMs] = process.argv.slice(2);
const connections = new Connections(readConfig(), pino({ level: 'silent' }));
const { open } = await import(`../../dist/locks/${lock}.js`);
const opened = open(connections);
await connections.ready();
const lease = await opened.acquire(resource, {
  waitMs: Number(waitMs),
  ...(leaseMs !== 'default' && { leaseMs: Number(leaseMs) }),
});
console.log(lease ? 'held' : 'not in time');
if (!lease) process.exit(0);
setInterval(() => {}, 1_000);
