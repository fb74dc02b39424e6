/** The service, from dist/: one primary with its API instances and order workers. */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Durability, durabilities } from '../../../service/config.ts';
import type { Server } from '../processes.ts';

/** How the service reaches its stores; `environment/network.ts` has the servers of each. */
export const networks = ['direct', 'proxied', 'sentinel'] as const;
export type Network = (typeof networks)[number];

/** Of nginx, for each address. */
export interface AddressLimits {
  /** A variable of nginx; empty: no limit. */
  readonly LIMIT_BY: string;
  readonly LIMIT_RATE: string;
  readonly LIMIT_BURST: string;
  readonly LIMIT_CONNECTIONS: string;
}

export interface ServiceShape {
  readonly instances: number;
  readonly balancer: 'nginx' | 'cluster';
  /** Added to the lab's settings: shorter leases for a race, no history for a benchmark. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Without them, none: all requests of the lab come from one address. */
  readonly limits?: AddressLimits;
  /** Without it: direct. */
  readonly network?: Network;
  /** The folder whose `dist/` is run: a mutant's. Without it, this project's. */
  readonly code?: string;
}

export const networkOf = ({ network = 'direct' }: ServiceShape): Network => network;

/** What its orders survive; the lab configures redis-main for it. */
export const durabilityOf = ({ settings }: ServiceShape): Durability => {
  const named = durabilities.find((each) => each === settings?.['ORDER_DURABILITY']);
  return named ?? 'always';
};

/** Of redis-main. */
export const replicasOf = (shape: ServiceShape): number =>
  networkOf(shape) === 'sentinel' ? 2 : 1;

export const sameShape = (one: ServiceShape, other: ServiceShape): boolean =>
  one.instances === other.instances &&
  one.balancer === other.balancer &&
  networkOf(one) === networkOf(other) &&
  one.code === other.code &&
  JSON.stringify(one.limits) === JSON.stringify(other.limits) &&
  JSON.stringify(one.settings ?? {}) === JSON.stringify(other.settings ?? {});

export const maxInstances = 16;

const project = fileURLToPath(new URL('../../../../', import.meta.url));

/** One for each instance, or one that all instances share. */
const instancePorts = (firstPort: number, { instances, balancer }: ServiceShape): number[] =>
  balancer === 'cluster'
    ? [firstPort]
    : Array.from({ length: instances }, (_, index) => firstPort + index);

/** Longer paths are refused as the address of a Unix socket. */
const longestPath = 100;

/** Empty when the folder of the lab has a path that is too long. */
const socketFolder = (folder: string): string => {
  const sockets = resolve(folder, 'sockets');
  return sockets.length + '/api-16.sock.bare'.length <= longestPath ? sockets : '';
};

/** For nginx: the socket of each instance, or the ports. */
export function upstreamsOf(
  folder: string,
  firstPort: number,
  shape: ServiceShape,
): (number | string)[] {
  const sockets = socketFolder(folder);
  if (sockets === '' || shape.balancer === 'cluster') return instancePorts(firstPort, shape);
  return instanceNames(shape).map((name) => join(sockets, `${name}.sock`));
}

/**
 * Of the processes that a benchmark compares the instances with: one beside each instance, reached
 * in the same way.
 */
export function bareUpstreams(
  folder: string,
  firstPort: number,
  shape: ServiceShape,
): (number | string)[] {
  const beside = (upstream: number | string) =>
    typeof upstream === 'number' ? upstream + maxInstances : `${upstream}.bare`;
  return upstreamsOf(folder, firstPort, { ...shape, balancer: 'nginx' }).map(beside);
}

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);

export const instanceNames = ({ instances }: ServiceShape): string[] => numbered('api', instances);

export const workerNames = ({ settings }: ServiceShape): string[] =>
  numbered('api-worker', Number(settings?.['ORDER_WORKERS'] ?? 1));

/** The names of the instances and the order workers, as the primary gives them. */
export const processNames = (shape: ServiceShape): string[] => [
  ...instanceNames(shape),
  ...workerNames(shape),
];

/** The message of a fault to the order workers, in the Redis of the lab. */
export const workersAway = {
  /** STRING: no order worker may start to consume. */
  key: 'lab:workers-away',
  /** They start again after this time if the command crashed. */
  keptSeconds: 120,
} as const;

export function serviceServer(
  folder: string,
  firstPort: number,
  shape: ServiceShape,
  env: Readonly<Record<string, string>>,
): Server {
  const ports = instancePorts(firstPort, shape);
  const sockets = socketFolder(folder);
  const ready = new Set<string>();
  return {
    name: 'service',
    port: firstPort,
    prepare: async () => {
      if (sockets !== '') mkdirSync(sockets, { recursive: true });
    },
    program: () => ({
      command: process.execPath,
      args: [join(shape.code ?? project, 'dist/service/bin/service.js')],
      logFile: join(folder, 'service.log'),
      env: {
        ...env,
        ...shape.settings,
        PORT: String(firstPort),
        INSTANCES: String(shape.instances),
        BALANCER: shape.balancer,
        SOCKET_FOLDER: sockets,
      },
    }),
    /** True once every instance was ready. On a shared port this takes several requests. */
    answers: async () => {
      for (const port of ports) {
        const answer = await fetch(`http://127.0.0.1:${port}/readyz`, {
          headers: { connection: 'close' },
        });
        const instance = answer.headers.get('x-instance');
        if (answer.ok && instance && answer.headers.get('x-lab-id') === env['LAB_ID'])
          ready.add(instance);
      }
      return ready.size === shape.instances;
    },
  };
}
