/** Connections of a command to the lab's MySQL and Redis, configured as the service is. */
import { pino } from 'pino';
import { readConfig } from '../../config.ts';
import { Connections } from '../../connections/connections.ts';
import type { Lab } from './lab.ts';

export async function withConnections<T>(
  { environment }: Pick<Lab, 'environment'>,
  work: (connections: Connections) => Promise<T>,
): Promise<T> {
  const connections = new Connections(readConfig(environment), pino({ level: 'silent' }));
  connections.redis('admin');
  await connections.ready();
  try {
    return await work(connections);
  } finally {
    await connections.close();
  }
}
