/**
 * The table of all faults, from the files of their places. Every list of faults, by hand or in an
 * experiment, is a selection of it. A fault that needs more than a name, such as the id of a
 * voucher, is only a function, and is in no list.
 */

import type { Bilingual } from '../../texts/texts.ts';
import { proxyNamed } from '../environment/servers/proxies.ts';
import { labError } from '../errors.ts';
import { clockFaults } from './clock.ts';
import { databaseFaults } from './database.ts';
import type { Fault, FaultRow } from './fault.ts';
import { networkFaults } from './network.ts';
import { nginxFaults } from './nginx.ts';
import { processFaults } from './process.ts';
import { redisFaults } from './redis.ts';

const table = {
  ...processFaults,
  ...redisFaults,
  ...networkFaults,
  ...databaseFaults,
  ...nginxFaults,
  ...clockFaults,
} as const;
type Table = typeof table;
export type FaultName = keyof Table;
export const faults: Readonly<Record<FaultName, FaultRow>> = table;

/** What a person may do. */
export type FaultVerb = {
  [Name in FaultName]: Table[Name] extends { readonly done: Bilingual } ? Name : never;
}[FaultName];
export const isVerb = (name: string): name is FaultVerb =>
  Object.hasOwn(table, name) && faults[name as FaultName].done !== undefined;
export const verbs: readonly FaultVerb[] = Object.keys(table).filter(isVerb);

/** For people: what is so once it is done. */
export const doneText = (verb: FaultVerb, name: string): Bilingual => {
  const { en, zh } = table[verb].done;
  return { en: `${name} ${en}`, zh: `${name} ${zh}` };
};

/** @throws NOT_A_REDIS or NOT_PROXIED, where it cannot hit what has this name */
export function faultOn(fault: FaultName, name: string, ms = 0): Fault {
  const row = faults[fault];
  if (row.hits === 'redis') return row.on(redisNamed(name), ms);
  if (row.hits === 'replication') return row.on(proxyNamed(redisNamed(name)), ms);
  return row.hits === 'network' ? row.on(proxyNamed(name), ms) : row.on(name, ms);
}

function redisNamed(name: string): string {
  const isOfService = name.startsWith('redis-') && name !== 'redis-lab';
  if (!isOfService) throw labError('NOT_A_REDIS', name);
  return name;
}
