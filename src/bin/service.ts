/**
 * The service: waits for MySQL and Redis, migrates the schema, compares the epochs of both and the
 * durability of Redis, then runs the API instances and the order workers until a stop signal.
 */
import { readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { agreeOnDurability, warnOfPromotion } from '../connections/durability.ts';
import { agreeOnEpoch } from '../connections/epoch.ts';
import { migrate } from '../connections/schema.ts';
import { openLog } from '../processes/log.ts';
import { endOnceOverdue } from '../processes/stop-deadline.ts';
import { stopSignal } from '../processes/stop-signal.ts';
import { childGraceMs, supervise } from '../processes/supervisor.ts';
import { onceStoresAnswer } from '../processes/wait-for-stores.ts';
import { keepHistory } from '../trace/history.ts';

const config = readConfig();
const log = openLog(`${config.NAME}-primary`, config.LOG_LEVEL);
if (config.HISTORY_FOLDER !== '') keepHistory(config.HISTORY_FOLDER, `${config.NAME}-primary`);
const stop = stopSignal(log);
endOnceOverdue(stop, config.DRAIN_MS + childGraceMs, log);
const connections = new Connections(config, log);
const prepare = async (): Promise<void> => {
  await migrate(config.MYSQL_URL);
  await agreeOnEpoch(connections, log);
  await agreeOnDurability(connections, log);
};
await onceStoresAnswer(prepare, config.START_WAIT_MS, log, stop);
await connections.close();
warnOfPromotion(config, log);
const { INSTANCES, ORDER_WORKERS, BALANCER, HOST, PORT } = config;
log.info({ event: 'started', INSTANCES, ORDER_WORKERS, BALANCER, HOST, PORT });
if (!stop.aborted) await supervise(config, log, stop);
log.info({ event: 'stopped' });
