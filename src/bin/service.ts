/**
 * The service: migrates the schema, compares the epochs of MySQL and Redis, then runs the API
 * instances and the order workers until a stop signal.
 */
import { readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { agreeOnEpoch } from '../connections/epoch.ts';
import { migrate } from '../connections/schema.ts';
import { openLog } from '../processes/log.ts';
import { stopSignal } from '../processes/stop-signal.ts';
import { supervise } from '../processes/supervisor.ts';
import { keepHistory } from '../trace/history.ts';

const config = readConfig();
const log = openLog(`${config.NAME}-primary`, config.LOG_LEVEL);
if (config.HISTORY_FOLDER !== '') keepHistory(config.HISTORY_FOLDER, `${config.NAME}-primary`);
const stop = stopSignal(log);
await migrate(config.MYSQL_URL);
const connections = new Connections(config, log);
await agreeOnEpoch(connections, log, stop);
if (stop.aborted) process.exit(); // Stopped while it waited for a store.
await connections.close();
const { INSTANCES, ORDER_WORKERS, BALANCER, HOST, PORT } = config;
log.info({ event: 'started', INSTANCES, ORDER_WORKERS, BALANCER, HOST, PORT });
await supervise(config, log, stop);
log.info({ event: 'stopped' });
