/** What a lab remembers of itself between commands: its ports, and the processes that it started. */

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LabStateUnreadable } from '../errors.ts';
import { freePorts } from './ports.ts';
import type { ProcessRef } from './processes.ts';
import type { ServiceShape } from './servers/service.ts';

interface Running extends ProcessRef {
  readonly name: string;
  readonly port: number;
}

export interface Ports {
  readonly nginx: number;
  readonly api: number;
  readonly mariadb: number;
  readonly zookeeper: number;
  readonly redisMain: number;
  readonly redlock: number[];
}

export interface State {
  /** Tells this lab's answers from another's on the same machine. */
  readonly id: string;
  /** The command that the lab was started for, and that stops it; without one it stays until it is taken down. */
  readonly owner?: ProcessRef;
  readonly ports: Ports;
  /** In the order they were started. */
  running: Running[];
  shape: ServiceShape;
}

const mostInstances = 16;
const stateFile = (folder: string): string => join(folder, 'lab.json');

export function readState(folder: string): State | null {
  if (!existsSync(stateFile(folder))) return null;
  try {
    return JSON.parse(readFileSync(stateFile(folder), 'utf8')) as State;
  } catch (cause) {
    throw new LabStateUnreadable(stateFile(folder), cause);
  }
}

export function writeState(folder: string, state: State): void {
  const fresh = `${stateFile(folder)}.fresh`; // Renamed into place, so that nobody ever reads half of it.
  writeFileSync(fresh, JSON.stringify(state, null, 2));
  renameSync(fresh, stateFile(folder));
}

export const forgetState = (folder: string): void => rmSync(stateFile(folder), { force: true });

/** For every server the preferred port, or the next that is free and not chosen for another: none is bound yet. */
export async function choosePorts(): Promise<Ports> {
  const taken = new Set<number>();
  const choose = async (preferred: number, count = 1): Promise<number> => {
    const first = await freePorts(preferred, count, taken);
    for (let port = first; port < first + count; port++) taken.add(port);
    return first;
  };
  const nginx = await choose(17_080);
  const api = await choose(17_100, mostInstances);
  const mariadb = await choose(17_306);
  const zookeeper = await choose(17_218);
  const redisMain = await choose(17_379);
  const redlock = await choose(17_381, 3);
  return {
    nginx,
    api,
    mariadb,
    zookeeper,
    redisMain,
    redlock: [redlock, redlock + 1, redlock + 2],
  };
}
