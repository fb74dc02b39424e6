/** What a fault by hand meets: it may be so already, or what it would hit does not run. */

import type { Bilingual } from '../../texts/texts.ts';
import type { Lab } from '../environment/lab.ts';
import { labError } from '../errors.ts';
import { type FaultVerb, faults } from './faults.ts';

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
