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
import { heartbeats } from '../processes/heartbeat.ts';
import { openLog } from '../processes/log.ts';
import { stopSignal } from '../processes/stop-signal.ts';
import { onceStoresAnswer } from '../processes/wait-for-stores.ts';
import { keepHistory } from '../trace/history.ts';

const config = readConfig();
const instance = config.INSTANCE || `${config.NAME}-worker-1`;
const log = openLog(instance, config.LOG_LEVEL);
if (config.HISTORY_FOLDER !== '') keepHistory(config.HISTORY_FOLDER, instance);
const stop = stopSignal(log);
const connections = new Connections(config, log);
const agree = () => agreeOnEpoch(connections, log);
await onceStoresAnswer(agree, config.START_WAIT_MS, log, stop);
if (stop.aborted) process.exit(); // Stopped while it waited for a store.
const queues = openQueues(allowedRungs(config.ALLOWED_RUNGS), connections);
await connections.ready();
log.info({ event: 'working', queues: queues.length });
const beats = queues.map((_, index) => heartbeats(config.HEARTBEAT_FOLDER, `${instance}-${index}`));
await Promise.all(
  queues.map((queue, index) => workOrders(connections, queue, log, stop, beats[index])),
);
await connections.close();
log.info({ event: 'stopped' });
process.exit();
