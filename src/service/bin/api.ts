/** One API instance. The service's primary starts it with a name and a port. */
import { once } from 'node:events';
import { join } from 'node:path';
import { agreeOnDurability } from '../connections/durability.ts';
import { agreeOnEpoch } from '../connections/epoch.ts';
import { createApp } from '../http/app.ts';
import { commonHeaders } from '../http/headers.ts';
import { openService, type Service } from '../http/service.ts';
import { ownQueueRungs } from '../ladder/factories.ts';
import { allowedRungs } from '../ladder/rungs.ts';
import { serveMetrics } from '../metrics/registry.ts';
import { workOrders } from '../orders/work-orders.ts';
import { type Address, drain, listen } from '../processes/api-server.ts';
import { auditsOneByOne } from '../processes/audit-process.ts';
import { endOnceOverdue, openChild } from '../processes/open-process.ts';
import { compareStores, onceStoresAnswer } from '../processes/wait-for-stores.ts';
import { endWhenStuck, lookAtPurchases, watch } from '../processes/watch.ts';
import { keepHistory } from '../trace/history.ts';
import { openTraces } from '../trace/traces.ts';

const { config, instance, log, stop, connections } = openChild('1');
if (config.HISTORY_FOLDER !== '') keepHistory(config.HISTORY_FOLDER, instance);
const endTraces = openTraces(config, instance, log);
await serveMetrics(config.HOST, config.METRICS_PORT, instance);
const stuck = new AbortController();
const end = AbortSignal.any([stop, stuck.signal]);
endOnceOverdue(end, config.DRAIN_MS, log);
const compare = async (): Promise<void> => {
  await agreeOnEpoch(connections, log);
  await agreeOnDurability(connections, log);
};
const open = async () => {
  const compared = await compareStores({ connections, log, signal: end, compare });
  compared.ended.catch(() => {
    process.exitCode = 1;
    stuck.abort();
  });
  const opened = await openService(connections, log, instance, () => !end.aborted);
  // In a process of its own: an instance that sells must not wait for an audit.
  return { ...opened, auditOf: auditsOneByOne(end) };
};
const service = await onceStoresAnswer(open, config.START_WAIT_MS, log, stop);
if (!service) process.exit(); // Stopped while it waited for a store.
const shared = config.BALANCER === 'cluster';
const addresses: Address[] = [{ host: config.HOST, port: config.PORT, shared }];
if (config.SOCKET_FOLDER !== '')
  addresses.push({ path: join(config.SOCKET_FOLDER, `${instance}.sock`) });
const added = await extensions(service);
const headers = { ...commonHeaders(instance), ...added?.headers };
const app = createApp(service, added);
const servers = await Promise.all(addresses.map((address) => listen(app, address, headers)));
log.info({ event: 'listening', addresses });
const watching = watch(lookAtPurchases(connections, log), config.PROGRESS_WITHIN_MS, log, end);
void endWhenStuck(watching, log, () => stuck.abort());

const drained = new AbortController();
const consuming = consumeOwnQueues(service, drained.signal);

if (!end.aborted) await once(end, 'abort');
await Promise.all(servers.map((server) => drain(server, config.DRAIN_MS)));
drained.abort();
await consuming;
service.orderIds.close();
await endTraces();
await connections.close();
log.info({ event: 'stopped' });
process.exit();

/**
 * The queues in the memory of an instance: only the instance itself can consume them. Runs until
 * `signal` aborts and the orders that wait in memory are recorded.
 */
async function consumeOwnQueues({ rungOf }: Service, signal: AbortSignal): Promise<void> {
  const rungs = ownQueueRungs(allowedRungs(config.ALLOWED_RUNGS));
  const opened = await Promise.all(rungs.map((rung) => rungOf({ rung })));
  await Promise.all(
    opened.map(({ queue }) => queue && workOrders(connections, queue, log, signal)),
  );
}

/**
 * The service itself does not know the lab: its gate and routes are loaded here, and only in the
 * lab.
 */
async function extensions(service: Service) {
  if (!config.LAB) return undefined;
  const { labExtensions } = await import('../../lab/in-service/lab-extensions.ts');
  return labExtensions(service);
}
