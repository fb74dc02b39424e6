/**
 * One order worker: records the orders that the queues of the allowed rungs deliver. The service's
 * primary starts it.
 */
import { readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { agreeOnEpoch } from '../connections/epoch.ts';
import { openQueues } from '../ladder/open-rung.ts';
import { allowedRungs } from '../ladder/rungs.ts';
import { workOrders } from '../orders/order-worker.ts';
import { openLog } from '../processes/log.ts';
import { stopSignal } from '../processes/stop-signal.ts';
import { keepHistory } from '../trace/history.ts';

const config = readConfig();
const instance = config.INSTANCE || `${config.NAME}-worker-1`;
const log = openLog(instance, config.LOG_LEVEL);
if (config.HISTORY_FOLDER !== '') keepHistory(config.HISTORY_FOLDER, instance);
const stop = stopSignal(log);
const connections = new Connections(config, log);
await agreeOnEpoch(connections, log, stop);
if (stop.aborted) process.exit(); // Stopped while it waited for a store.
const queues = openQueues(allowedRungs(config.ALLOWED_RUNGS), connections);
await connections.ready();
log.info({ event: 'working', queues: queues.length });
await Promise.all(queues.map((queue) => workOrders(connections, queue, log, stop)));
await connections.close();
log.info({ event: 'stopped' });
process.exit();
