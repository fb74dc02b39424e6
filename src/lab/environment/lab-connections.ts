/** Connections of a command to the stores of a lab. */
import { readConfig } from '../../config.ts';
import type { Connections } from '../../connections/connections.ts';
import { withStores } from '../../processes/with-stores.ts';
import type { Lab } from './lab.ts';

export const withConnections = <T>(
  { environment }: Pick<Lab, 'environment'>,
  work: (connections: Connections) => Promise<T>,
): Promise<T> => withStores(readConfig(environment), work);
