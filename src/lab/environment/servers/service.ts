/** Lockstep itself: one primary with its API instances and order workers, from dist/. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Server } from './server.ts';

export interface ServiceShape {
  readonly instances: number;
  readonly balancer: 'nginx' | 'cluster';
  /** Settings beside the lab's own: shorter leases for a race, no history for a benchmark. */
  readonly settings?: Readonly<Record<string, string>>;
}

export const sameShape = (one: ServiceShape, other: ServiceShape): boolean =>
  one.instances === other.instances &&
  one.balancer === other.balancer &&
  JSON.stringify(one.settings ?? {}) === JSON.stringify(other.settings ?? {});

const entry = fileURLToPath(new URL('../../../../dist/bin/service.js', import.meta.url));

/** The ports that nginx sends to: one for each instance, or the one that all of them share. */
export const instancePorts = (
  firstPort: number,
  { instances, balancer }: ServiceShape,
): number[] =>
  balancer === 'cluster'
    ? [firstPort]
    : Array.from({ length: instances }, (_, index) => firstPort + index);

export function serviceServer(
  folder: string,
  firstPort: number,
  shape: ServiceShape,
  env: Readonly<Record<string, string>>,
): Server {
  const ports = instancePorts(firstPort, shape);
  const seen = new Set<string>();
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
    /** Every instance has answered that it is ready; behind a shared port that takes a few questions. */
    answers: async () => {
      for (const port of ports) {
        const answer = await fetch(`http://127.0.0.1:${port}/readyz`, {
          headers: { connection: 'close' },
        });
        const instance = answer.headers.get('x-instance');
        if (answer.ok && instance && answer.headers.get('x-lab-id') === env['LAB_ID'])
          seen.add(instance);
      }
      return seen.size === shape.instances;
    },
  };
}
