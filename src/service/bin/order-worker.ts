/**
 * One order worker: records the orders that the queues of the allowed rungs deliver. The service's
 * primary starts it.
 */
import type { Connections } from '../connections/connections.ts';
import { agreeOnEpoch } from '../connections/epoch.ts';
import { openQueues } from '../ladder/open-rung.ts';
import { allowedRungs } from '../ladder/rungs.ts';
import { serveMetrics } from '../metrics/registry.ts';
import { workOrders } from '../orders/work-orders.ts';
import { keepFinishingChanges, keepRemovingEndedSales } from '../processes/housekeeping.ts';
import { endOnceOverdue, openChild } from '../processes/open-process.ts';
import { onceStoresAnswer } from '../processes/wait-for-stores.ts';
import { endWhenStuck, watch } from '../processes/watch.ts';
import { ConsumerWatch, heartbeats } from '../processes/watch-consumers.ts';
import { keepHistory } from '../trace/history.ts';
import { openTraces } from '../trace/traces.ts';

const { config, instance, log, stop, connections } = openChild('worker-1');
if (config.HISTORY_FOLDER !== '') keepHistory(config.HISTORY_FOLDER, instance);
const endTraces = openTraces(config, instance, log);
endOnceOverdue(stop, config.DRAIN_MS, log);
await serveMetrics(config.HOST, config.METRICS_PORT, instance);
const agree = () => agreeOnEpoch(connections, log);
await onceStoresAnswer(agree, config.START_WAIT_MS, log, stop);
if (stop.aborted) process.exit(); // Stopped while it waited for a store.
const openAllowed = (opened: Connections) => openQueues(allowedRungs(config.ALLOWED_RUNGS), opened);
const queues = openAllowed(connections);
await connections.ready();
if (config.LAB) {
  const { installWorkerGate, untilWorkersMayStart } = await import(
    '../../lab/in-service/meet-player.ts'
  );
  await untilWorkersMayStart(connections, stop);
  // Without a history, as in a benchmark, an order meets nothing that production does not have.
  if (config.HISTORY_FOLDER !== '') installWorkerGate(connections, instance);
}
log.info({ event: 'working', queues: queues.length });
void keepRemovingEndedSales(connections, log, stop);
void keepFinishingChanges(connections, log, stop);
const onProgress = heartbeats(config.HEARTBEAT_FOLDER, instance);
const consumers = new ConsumerWatch({ connections, log, openQueues: openAllowed, onProgress });
const watching = watch(consumers.look, config.PROGRESS_WITHIN_MS, log, stop);
// At once: what is stuck cannot be finished. Its orders are delivered again.
void endWhenStuck(watching, log, () => process.exit());
await Promise.all(
  queues.map((queue, index) => workOrders(connections, queue, log, stop, consumers.hooks(index))),
);
await endTraces();
await connections.close();
log.info({ event: 'stopped' });
process.exit();
