/**
 * Observes the stores: their figures for whoever asks, and what differs between them. The service's
 * primary starts it beside the order workers.
 */
import { readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { agreeOnEpoch } from '../connections/epoch.ts';
import { serveMetrics } from '../metrics/registry.ts';
import { keepReconciling } from '../processes/keep-reconciling.ts';
import { openLog } from '../processes/log.ts';
import { observeStores } from '../processes/observe-stores.ts';
import { tellPrimary } from '../processes/silent-children.ts';
import { stopSignal } from '../processes/stop.ts';
import { onceStoresAnswer } from '../processes/wait-for-stores.ts';

const config = readConfig();
const instance = config.INSTANCE || `${config.NAME}-observer`;
const log = openLog(instance, config.LOG_LEVEL);
tellPrimary();
const stop = stopSignal(log);
// Nothing waits for it: a change that it leaves half-way is finished by another process.
stop.addEventListener('abort', () => process.exit());
const connections = new Connections(config, log);
observeStores(connections);
await serveMetrics(config.HOST, config.METRICS_PORT, instance);
await onceStoresAnswer(() => agreeOnEpoch(connections, log), config.START_WAIT_MS, log, stop);
log.info({ event: 'observing' });
await keepReconciling(connections, log, stop);
