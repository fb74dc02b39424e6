// A consumer that takes orders and settles none. Prints the number of orders in each delivery; runs
// until it is killed.
import { pino } from 'pino';
import { readConfig } from '../../dist/service/config.js';
import { Connections } from '../../dist/service/connections/connections.js';
import { openQueues } from '../../dist/service/ladder/open-rung.js';

const connections = new Connections(readConfig(), pino({ level: 'silent' }));
const [queue] = openQueues(['lua-stream'], connections);
await connections.ready();

async function keep(deliveries) {
  console.log(`took ${deliveries.length}`);
  await new Promise(() => {});
}

await queue.consume(keep, new AbortController().signal);
