/** Connections of a command to MySQL and Redis, configured as the service is. */
import { pino } from 'pino';
import { type Config, readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { epochsOf } from '../connections/epoch.ts';

type Work<T> = (connections: Connections) => Promise<T>;
const silent = pino({ level: 'silent' });

/** For a caller that closes them. */
export async function openStores(config: Config): Promise<Connections> {
  const connections = new Connections(config, silent);
  connections.redis('admin');
  await connections.ready();
  return connections;
}

/** Closed when the work is over. */
export async function withStores<T>(config: Config, work: Work<T>): Promise<T> {
  const connections = await openStores(config);
  try {
    return await work(connections);
  } finally {
    await connections.close();
  }
}

/**
 * To those that the environment of the command names. The epochs are compared, and never written: a
 * Redis that has lost its data must stay as it is found.
 * @throws CONFIGURATION_INVALID or EPOCHS_DIFFER
 */
export const withDeployment = <T>(work: Work<T>): Promise<T> =>
  withStores(readConfig(), async (connections) => {
    await epochsOf(connections);
    return work(connections);
  });
