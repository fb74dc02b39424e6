/** What a fault by hand meets: it may be so already, or what it would hit does not run. */

import type { Lab } from '../environment/lab.ts';
import { labError } from '../errors.ts';
import { type FaultVerb, faults } from './faults.ts';

/** An API instance, or an order worker: the service starts another one. */
export const isServiceProcess = (server: string): boolean => server.startsWith('api-');

/** They mend what was done to one process. */
export type UndoVerb = 'start' | 'resume';
export const isUndoing = (verb: string): verb is UndoVerb => verb === 'start' || verb === 'resume';

/** @returns what is so already, where nothing would change. @throws SERVER_DOWN */
export function soAlready(lab: Lab, verb: FaultVerb | UndoVerb, server: string): string | null {
  const state = lab.stateOf(server);
  if (isUndoing(verb)) return state === 'runs' ? already(`${server} runs`) : null;
  if (state === 'paused' && verb === 'pause') return already(`${server} is paused`);
  if (state !== 'stopped' || faults[verb].hits === 'network' || verb === 'promote-replica')
    return null;
  if (isServiceProcess(server)) {
    if (lab.stateOf('service') === 'stopped') throw labError('SERVER_DOWN', 'service');
    return null;
  }
  if (verb === 'stop' || verb === 'kill') return already(`${server} is stopped`);
  throw labError('SERVER_DOWN', server);
}

export const already = (what: string): string => `Nothing changes: ${what} already.`;

/** Undoes what was done to its process. @returns what is so now. @throws SERVER_DOWN */
export async function runAgain(lab: Lab, verb: UndoVerb, name: string): Promise<string> {
  if (lab.stateOf(name) === 'stopped' && verb === 'resume') throw labError('SERVER_DOWN', name);
  const server = lab.server(name);
  await server.resume();
  await server.start();
  return `${name} runs.`;
}
