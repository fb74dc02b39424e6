/** One order worker: records what the final rung queued. Started by the service's primary. */
import { readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { workOrders } from '../orders/order-worker.ts';
import { openLog } from '../processes/log.ts';
import { stopSignal } from '../processes/stop-signal.ts';
import { open } from '../queues/redis-stream-group.ts';

const config = readConfig();
const log = openLog(config.INSTANCE || `${config.NAME}-worker-1`, config.LOG_LEVEL);
const stop = stopSignal(log);
const connections = new Connections(config, log);
const queue = open(connections);
await connections.ready();
log.info({ event: 'working' });
await workOrders(connections, queue, log, stop);
await connections.close();
log.info({ event: 'stopped' });
process.exit();
