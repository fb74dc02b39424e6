/** The service, from dist/: one primary with its API instances and order workers. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Server } from './server.ts';

export interface ServiceShape {
  readonly instances: number;
  readonly balancer: 'nginx' | 'cluster';
  /** Added to the lab's settings: shorter leases for a race, no history for a benchmark. */
  readonly settings?: Readonly<Record<string, string>>;
}

export const sameShape = (one: ServiceShape, other: ServiceShape): boolean =>
  one.instances === other.instances &&
  one.balancer === other.balancer &&
  JSON.stringify(one.settings ?? {}) === JSON.stringify(other.settings ?? {});

const entry = fileURLToPath(new URL('../../../../dist/bin/service.js', import.meta.url));

/** The ports for nginx: one for each instance, or one that all instances share. */
export const instancePorts = (
  firstPort: number,
  { instances, balancer }: ServiceShape,
): number[] =>
  balancer === 'cluster'
    ? [firstPort]
    : Array.from({ length: instances }, (_, index) => firstPort + index);

/** The names of the instances and the order workers, as the primary gives them. */
export function processNames({ instances, settings = {} }: ServiceShape): string[] {
  const workers = Number(settings['ORDER_WORKERS'] ?? 1);
  const name = (prefix: string) => (_: unknown, index: number) => `${prefix}-${index + 1}`;
  return [
    ...Array.from({ length: instances }, name('api')),
    ...Array.from({ length: workers }, name('api-worker')),
  ];
}

export function serviceServer(
  folder: string,
  firstPort: number,
  shape: ServiceShape,
  env: Readonly<Record<string, string>>,
): Server {
  const ports = instancePorts(firstPort, shape);
  const ready = new Set<string>();
  return {
    name: 'service',
    port: firstPort,
    program: () => ({
      command: process.execPath,
      args: [entry],
      logFile: join(folder, 'service.log'),
      env: {
        ...env,
        ...shape.settings,
        PORT: String(firstPort),
        INSTANCES: String(shape.instances),
        BALANCER: shape.balancer,
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
