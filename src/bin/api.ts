/** One API instance. The service's primary starts it with a name and a port. */
import { once } from 'node:events';
import { readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { agreeOnEpoch } from '../connections/epoch.ts';
import { createApp } from '../http/app.ts';
import { openService } from '../http/service.ts';
import { drain, listen } from '../processes/api-server.ts';
import { openLog } from '../processes/log.ts';
import { stopSignal } from '../processes/stop-signal.ts';
import { keepHistory } from '../trace/history.ts';

const config = readConfig();
const instance = config.INSTANCE || `${config.NAME}-1`;
const log = openLog(instance, config.LOG_LEVEL);
if (config.HISTORY_FOLDER !== '') keepHistory(config.HISTORY_FOLDER, instance);
const stop = stopSignal(log);
const connections = new Connections(config, log);
await agreeOnEpoch(connections, log, stop);
if (stop.aborted) process.exit(); // Stopped while it waited for a store.
const service = await openService(connections, log, instance, () => !stop.aborted);
const address = { host: config.HOST, port: config.PORT, shared: config.BALANCER === 'cluster' };
const server = await listen(createApp(service, await extensions()), address, instance);
log.info({ event: 'listening', ...address });

if (!stop.aborted) await once(stop, 'abort');
await drain(server, config.DRAIN_MS);
service.orderIds.close();
await connections.close();
log.info({ event: 'stopped' });
process.exit();

/**
 * The service itself does not know the lab: its gate and routes are loaded here, and only in the
 * lab.
 */
async function extensions() {
  if (!config.LAB) return undefined;
  const { labExtensions } = await import('../lab/service/lab-extensions.ts');
  return labExtensions(service);
}
