/** The state that a lab keeps between commands: its ports, and the processes that it started. */

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { labError } from '../errors.ts';
import { areFree } from './ports.ts';
import type { ProcessRef } from './process-table.ts';
import type { Database } from './servers/database.ts';
import { maxInstances, type ServiceShape } from './servers/service.ts';
import { takeName } from './unique-name.ts';

export interface Running extends ProcessRef {
  readonly name: string;
  readonly port: number;
  /** By a fault: the lab goes on without it. */
  stopped?: boolean;
  /** By a fault. It may end because of that. */
  hasFullDisk?: boolean;
}

export interface Ports {
  readonly nginx: number;
  readonly api: number;
  readonly mysql: number;
  readonly zookeeper: number;
  /** The first of three: RabbitMQ, and two of Erlang. */
  readonly rabbitmq: number;
  readonly redisMain: number;
  readonly redlock: number[];
  /** The Redis of the lab itself: no fault touches it. */
  readonly redisLab: number;
  readonly replica: number;
  /** Of redis-main too, with Sentinels. */
  readonly secondReplica: number;
  readonly sentinels: number[];
  /** The proxies' own port, then one for each proxied server. */
  readonly proxies: number;
  readonly page: number;
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

/** The ports of the first lab; those of the next one are `blockSize` higher, and so on. */
const firstBlock = {
  nginx: 17_080,
  api: 17_100, // The first of `maxInstances`, then the bare processes beside them.
  mysql: 17_306,
  zookeeper: 17_218,
  rabbitmq: 17_230,
  redisMain: 17_379,
  redlock: 17_381, // The first of three.
  redisLab: 17_384,
  replica: 17_385,
  sentinel: 17_386, // The first of three.
  secondReplica: 17_389,
  proxies: 17_390, // The first of `proxiedPorts`.
  page: 17_399,
} as const;
const proxiedPorts = 8;
const blockSize = 400;
const labsMax = 30;

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
  const { nginx, api, mysql, zookeeper, redisMain, redlock } = firstBlock;
  const { redisLab, replica, secondReplica, sentinel, proxies, rabbitmq, page } = firstBlock;
  const three = (first: number) => [0, 1, 2].map((index) => first + offset + index);
  return {
    nginx: nginx + offset,
    api: api + offset,
    mysql: mysql + offset,
    zookeeper: zookeeper + offset,
    rabbitmq: rabbitmq + offset,
    redisMain: redisMain + offset,
    redlock: three(redlock),
    redisLab: redisLab + offset,
    replica: replica + offset,
    secondReplica: secondReplica + offset,
    sentinels: three(sentinel),
    proxies: proxies + offset,
    page: page + offset,
  };
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
