// A process that makes order ids as ORDER_IDS says. Usage: node order-id-maker.mjs <count> <at
// once> <file> Writes them to the file, eight bytes each, in the order in which they were asked
// for.
import { writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { readConfig } from '../../dist/service/config.js';
import { Connections } from '../../dist/service/connections/connections.js';
import { openOrderIds } from '../../dist/service/order-ids/open-order-ids.js';

const [count, atOnce] = process.argv.slice(2, 4).map(Number);
const log = pino({ level: 'silent' });
const connections = new Connections(readConfig(), log);
connections.redis('admin');
connections.redis('purchase');
await connections.ready();
const orderIds = await openOrderIds(connections, log);
const ids = new BigUint64Array(count);
for (let made = 0; made < count; made += atOnce) {
  const batch = Array.from({ length: Math.min(atOnce, count - made) }, () => orderIds.next());
  ids.set((await Promise.all(batch)).map(BigInt), made);
}
writeFileSync(process.argv[4], ids);
process.exit(0);
