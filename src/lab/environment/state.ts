/** The state that a lab keeps between commands: its ports, and the processes that it started. */

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LabStateUnreadable } from '../errors.ts';
import { freePorts } from './ports.ts';
import type { ProcessRef } from './process-table.ts';
import type { Database } from './servers/database.ts';
import type { ServiceShape } from './servers/service.ts';

export interface Running extends ProcessRef {
  readonly name: string;
  readonly port: number;
  /** By a fault: the lab goes on without it. */
  stopped?: boolean;
}

export interface Ports {
  readonly nginx: number;
  readonly api: number;
  readonly mysql: number;
  readonly zookeeper: number;
  readonly redisMain: number;
  readonly redlock: number[];
}

export interface State {
  /** Sent with every answer, so that two labs on one machine are not confused. */
  readonly id: string;
  /**
   * The command that started the lab and stops it at its end. Without one, the lab runs until
   * `lockstep down`.
   */
  readonly owner?: ProcessRef;
  readonly ports: Ports;
  readonly database: Database;
  /** In the order they were started. */
  running: Running[];
  shape: ServiceShape;
}

const maxInstances = 16;
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
  const fresh = `${stateFile(folder)}.fresh`; // Renamed later, so that no reader sees half a file.
  writeFileSync(fresh, JSON.stringify(state, null, 2));
  renameSync(fresh, stateFile(folder));
}

export const removeState = (folder: string): void => rmSync(stateFile(folder), { force: true });

/**
 * A free port for every server, from its preferred port upwards. No server listens yet, so the
 * ports that are already chosen count as taken.
 */
export async function choosePorts(): Promise<Ports> {
  const taken = new Set<number>();
  const choose = async (preferred: number, count = 1): Promise<number> => {
    const first = await freePorts(preferred, count, taken);
    for (let port = first; port < first + count; port++) taken.add(port);
    return first;
  };
  const nginx = await choose(17_080);
  const api = await choose(17_100, maxInstances);
  const mysql = await choose(17_306);
  const zookeeper = await choose(17_218);
  const redisMain = await choose(17_379);
  const redlock = await choose(17_381, 3);
  return {
    nginx,
    api,
    mysql,
    zookeeper,
    redisMain,
    redlock: [redlock, redlock + 1, redlock + 2],
  };
}
