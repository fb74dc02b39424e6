/**
 * The table of all faults, from the files of their places. Every list of faults, by hand or in an
 * experiment, is a selection of it. A fault that needs more than a name, such as the id of a
 * voucher, is only a function, and is in no list. And what a fault by hand meets: it may be so
 * already, or what it would hit does not run.
 */

import type { Bilingual } from '../../texts/texts.ts';
import type { Lab } from '../environment/lab.ts';
import { proxyNamed } from '../environment/servers/proxies.ts';
import { labError } from '../errors.ts';
import { databaseFaults } from './database.ts';
import type { Fault, FaultRow } from './fault.ts';
import { networkFaults } from './network.ts';
import { clockFaults, processFaults } from './process.ts';
import { redisFaults } from './redis.ts';

const table = {
  ...processFaults,
  ...redisFaults,
  ...networkFaults,
  ...databaseFaults,
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

/** An API instance, or an order worker: the service starts another one. */
export const isServiceProcess = (server: string): boolean => server.startsWith('api-');

/** They mend what was done to one process. */
export type UndoVerb = 'start' | 'resume';
export const isUndoing = (verb: string): verb is UndoVerb => verb === 'start' || verb === 'resume';

/** @returns what is so already, where nothing would change. @throws SERVER_DOWN */
export function soAlready(lab: Lab, verb: FaultVerb | UndoVerb, server: string): Bilingual | null {
  const state = lab.stateOf(server);
  if (isUndoing(verb)) return state === 'runs' ? already(stateText(server, 'runs')) : null;
  if (state === 'paused' && verb === 'pause') return already(stateText(server, 'paused'));
  if (state !== 'stopped' || faults[verb].hits === 'network' || verb === 'promote-replica')
    return null;
  if (isServiceProcess(server)) {
    if (lab.stateOf('service') === 'stopped') throw labError('SERVER_DOWN', 'service');
    return null;
  }
  if (verb === 'stop' || verb === 'kill') return already(stateText(server, 'stopped'));
  throw labError('SERVER_DOWN', server);
}

const states = {
  runs: { en: 'runs', zh: '在运行' },
  paused: { en: 'is paused', zh: '已暂停' },
  stopped: { en: 'is stopped', zh: '已停止' },
} as const;
const stateText = (server: string, state: keyof typeof states): Bilingual => ({
  en: `${server} ${states[state].en}`,
  zh: `${server} ${states[state].zh}`,
});

export const already = ({ en, zh }: Bilingual): Bilingual => ({
  en: `Nothing changes: ${en} already.`,
  zh: `什么都没有变：${zh}。`,
});

export const runsNow = (server: string): Bilingual => ({
  en: `${server} runs.`,
  zh: `${server} 在运行。`,
});
export const allRun: Bilingual = {
  en: 'Every server runs and answers.',
  zh: '每台服务器都在运行，都有响应。',
};

/** Undoes what was done to its process. @returns what is so now. @throws SERVER_DOWN */
export async function runAgain(lab: Lab, verb: UndoVerb, name: string): Promise<Bilingual> {
  if (lab.stateOf(name) === 'stopped' && verb === 'resume') throw labError('SERVER_DOWN', name);
  const server = lab.server(name);
  await server.resume();
  await server.start();
  return runsNow(name);
}
