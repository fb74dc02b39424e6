/** Connections of a command to the stores of a lab. */
import { readConfig } from '../../service/config.ts';
import type { Connections } from '../../service/connections/connections.ts';
import { openStores, withStores } from '../../service/processes/with-stores.ts';
import { labError } from '../errors.ts';
import { Lab } from './lab.ts';

/** @throws LAB_DOWN */
export function runningLab(folder: string): Lab {
  const lab = Lab.running(folder);
  if (!lab) throw labError('LAB_DOWN');
  return lab;
}

/**
 * For a caller that closes them. The service may have other settings than the lab: a command must
 * find the same keys.
 */
export async function openConnections(
  { environment }: Pick<Lab, 'environment'>,
  settings: Readonly<Record<string, string>> = {},
): Promise<Connections> {
  const { SALE_SHARDS = '' } = settings;
  const config = readConfig({ ...environment, ...(SALE_SHARDS && { SALE_SHARDS }) });
  return openStores(config);
}

export const withConnections = <T>(
  { environment }: Pick<Lab, 'environment'>,
  work: (connections: Connections) => Promise<T>,
): Promise<T> => withStores(readConfig(environment), work);
