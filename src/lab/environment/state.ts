/** The state that a lab keeps between commands: its ports, and the processes that it started. */

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { labError } from '../errors.ts';
import { areFree, takeName } from './ports.ts';
import type { ProcessRef } from './process-table.ts';
import type { Database } from './servers/database.ts';
import { maxInstances, type ServiceShape } from './servers/service.ts';

export interface Running extends ProcessRef {
  readonly name: string;
  readonly port: number;
  /** By a fault: the lab goes on without it. */
  stopped?: boolean;
  /** By a fault. It may end because of that. */
  hasFullDisk?: boolean;
}

/** The ports of the first lab; those of the next one are `blockSize` higher, and so on. */
const firstBlock = {
  nginx: 17_080,
  /** The first of `maxInstances`, then the bare processes beside them. */
  api: 17_100,
  mysql: 17_306,
  zookeeper: 17_218,
  /** The first of three: RabbitMQ, and two of Erlang. */
  rabbitmq: 17_230,
  redisMain: 17_379,
  redlock: [17_381, 17_382, 17_383],
  /** The Redis of the lab itself: no fault touches it. */
  redisLab: 17_384,
  replica: 17_385,
  sentinels: [17_386, 17_387, 17_388],
  /** Of redis-main too, with Sentinels. */
  secondReplica: 17_389,
  /** The proxies' own port, then one for each proxied server. */
  proxies: 17_390,
  page: 17_399,
};
export type Ports = Readonly<typeof firstBlock>;
const proxiedPorts = 8;
const blockSize = 400;
const labsMax = 30;

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
  /** That which a session restores at its end; there while it lasts, or when it was killed. */
  shapeBefore?: ServiceShape;
}

const stateFile = (folder: string): string => join(folder, 'lab.json');

export function readState(folder: string): State | null {
  if (!existsSync(stateFile(folder))) return null;
  try {
    return JSON.parse(readFileSync(stateFile(folder), 'utf8')) as State;
  } catch (cause) {
    throw labError('LAB_STATE_UNREADABLE', stateFile(folder)).causedBy(cause);
  }
}

export function writeState(folder: string, state: State): void {
  const fresh = `${stateFile(folder)}.fresh`; // Renamed later, so that no reader sees half a file.
  writeFileSync(fresh, JSON.stringify(state, null, 2));
  renameSync(fresh, stateFile(folder));
}

export const removeState = (folder: string): void => rmSync(stateFile(folder), { force: true });

/**
 * The first block without a port in use. Two labs never share a block: while one restarts a server,
 * that port is free for a moment, but others of its block are not.
 * @returns the ports, and a function to call once the servers listen: until then no other lab may
 *   choose this block.
 */
export async function choosePorts(): Promise<{ ports: Ports; chosen: () => void }> {
  for (let lab = 0; lab < labsMax; lab++) {
    const chosen = await takeName(`ports of lab ${lab}`);
    if (!chosen) continue;
    const ports = portsFrom(lab * blockSize);
    if (await areFree(allOf(ports))) return { ports, chosen };
    chosen();
  }
  throw labError('NO_FREE_PORTS', firstBlock.nginx);
}

function portsFrom(offset: number): Ports {
  const moved = (port: number | readonly number[]) =>
    typeof port === 'number' ? port + offset : port.map((each) => each + offset);
  const ports = Object.entries(firstBlock).map(([name, port]) => [name, moved(port)]);
  return Object.fromEntries(ports) as Ports;
}

function allOf({ api, redlock, sentinels, proxies, rabbitmq, ...single }: Ports): number[] {
  const row = (first: number, count: number) =>
    Array.from({ length: count }, (_, index) => first + index);
  const rows = [
    row(api, 2 * maxInstances),
    redlock,
    sentinels,
    row(proxies, proxiedPorts),
    row(rabbitmq, 3),
  ];
  return [...Object.values(single), ...rows.flat()];
}
