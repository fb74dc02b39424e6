/** One order worker: records what the final rung queued. Started by the service's primary. */
import { readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { keepHistory } from '../history.ts';
import { workOrders } from '../orders/order-worker.ts';
import { openLog } from '../processes/log.ts';
import { stopSignal } from '../processes/stop-signal.ts';
import { open } from '../queues/redis-stream-group.ts';

const config = readConfig();
const instance = config.INSTANCE || `${config.NAME}-worker-1`;
const log = openLog(instance, config.LOG_LEVEL);
if (config.HISTORY_FOLDER !== '') keepHistory(config.HISTORY_FOLDER, instance);
const stop = stopSignal(log);
const connections = new Connections(config, log);
const queue = open(connections);
await connections.ready();
log.info({ event: 'working' });
await workOrders(connections, queue, log, stop);
await connections.close();
log.info({ event: 'stopped' });
process.exit();
