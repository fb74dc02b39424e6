/**
 * The service: migrates the schema, compares the epochs of MySQL and Redis and what both keep, then
 * runs the API instances and the order workers until a stop signal. It waits for Redis; for MySQL
 * only when Redis cannot be trusted without it.
 */
import { readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { agreeOnCommits, agreeOnDurability, warnOfPromotion } from '../connections/durability.ts';
import { agreeOnEpoch } from '../connections/epoch.ts';
import { migrate } from '../connections/schema.ts';
import { serveMetrics } from '../metrics/registry.ts';
import { endOnceOverdue, openLog, stopSignal, warnOfRoot } from '../processes/open-process.ts';
import { childGraceMs, supervise } from '../processes/supervisor.ts';
import { compareStores, onceStoresAnswer } from '../processes/wait-for-stores.ts';
import { keepHistory } from '../trace/history.ts';

const config = readConfig();
const log = openLog(`${config.NAME}-primary`, config.LOG_LEVEL);
if (config.HISTORY_FOLDER !== '') keepHistory(config.HISTORY_FOLDER, `${config.NAME}-primary`);
const stop = stopSignal(log);
const connections = new Connections(config, log);
await serveMetrics(config.HOST, config.METRICS_PORT, `${config.NAME}-primary`);
const differ = new AbortController();
const end = AbortSignal.any([stop, differ.signal]);
endOnceOverdue(end, config.DRAIN_MS + childGraceMs, log);
const compare = async (): Promise<void> => {
  await migrate(config.MYSQL_OWNER_URL || config.MYSQL_URL);
  await agreeOnEpoch(connections, log);
  await agreeOnDurability(connections, log);
  await agreeOnCommits(connections);
};
const prepare = () => compareStores({ connections, log, signal: end, compare });
const compared = await onceStoresAnswer(prepare, config.START_WAIT_MS, log, stop);
const closed = (compared?.ended ?? Promise.resolve())
  .catch(() => {
    process.exitCode = 1;
    differ.abort();
  })
  .then(() => connections.close());
warnOfPromotion(config, log);
warnOfRoot(config, log);
const { INSTANCES, ORDER_WORKERS, BALANCER, HOST, PORT } = config;
log.info({ event: 'started', INSTANCES, ORDER_WORKERS, BALANCER, HOST, PORT });
if (!end.aborted) await supervise(config, log, end);
await closed;
log.info({ event: 'stopped' });
