/**
 * Observes the stores: their figures for whoever asks, and what differs between them. The service's
 * primary starts it beside the order workers.
 */
import { agreeOnEpoch } from '../connections/epoch.ts';
import { serveMetrics } from '../metrics/registry.ts';
import { keepReconciling } from '../processes/keep-reconciling.ts';
import { observeStores } from '../processes/observe-stores.ts';
import { openChild } from '../processes/open-process.ts';
import { onceStoresAnswer } from '../processes/wait-for-stores.ts';

const { config, instance, log, stop, connections } = openChild('observer');
// Nothing waits for it: a change that it leaves half-way is finished by another process.
stop.addEventListener('abort', () => process.exit());
observeStores(connections);
await serveMetrics(config.HOST, config.METRICS_PORT, instance);
await onceStoresAnswer(() => agreeOnEpoch(connections, log), config.START_WAIT_MS, log, stop);
log.info({ event: 'observing' });
await keepReconciling(connections, log, stop);
