/** What a lab remembers of itself between commands: its ports, and the processes that it started. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from './ports.ts';
import type { ProcessRef } from './processes.ts';
import type { ServiceShape } from './servers/service.ts';

interface Running extends ProcessRef {
  readonly name: string;
  readonly port: number;
}

export interface State {
  readonly ports: {
    nginx: number;
    api: number;
    mariadb: number;
    zookeeper: number;
    redisMain: number;
    redlock: number[];
  };
  /** In the order they were started. */
  running: Running[];
  shape: ServiceShape;
}

const mostInstances = 16;
const stateFile = (folder: string): string => join(folder, 'lab.json');

export function readState(folder: string): State | null {
  if (!existsSync(stateFile(folder))) return null;
  return JSON.parse(readFileSync(stateFile(folder), 'utf8')) as State;
}

export function writeState(folder: string, state: State): void {
  writeFileSync(stateFile(folder), JSON.stringify(state, null, 2));
}

export const forgetState = (folder: string): void => rmSync(stateFile(folder), { force: true });

/** For every server the preferred port, or the next that is free. */
export async function choosePorts(): Promise<State['ports']> {
  const redisMain = await freePorts(17_379);
  const redlock = await freePorts(Math.max(17_381, redisMain + 1), 3); // Beside other labs the two would meet.
  return {
    nginx: await freePorts(17_080),
    api: await freePorts(17_100, mostInstances),
    mariadb: await freePorts(17_306),
    zookeeper: await freePorts(17_218),
    redisMain,
    redlock: [redlock, redlock + 1, redlock + 2],
  };
}
