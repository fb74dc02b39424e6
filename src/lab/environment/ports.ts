/** Loopback ports: the preferred port, or the next free one. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { labError } from '../errors.ts';

/** Searches upwards for free ports in a row. @returns the first of `count` @throws NO_FREE_PORTS */
export async function freePorts(preferred: number, count = 1): Promise<number> {
  for (let first = preferred; first < preferred + 2_000; first++) {
    const row = Array.from({ length: count }, (_, index) => first + index);
    if (await areFree(row)) return first;
  }
  throw labError('NO_FREE_PORTS', preferred);
}

/** The port of a Redis Cluster node for the other nodes, beside its own. */
const busOffset = 10_000;

/** The first of `count` ports in a row that are free together with those of their cluster bus. */
export async function freeClusterPorts(preferred: number, count: number): Promise<number> {
  const first = await freePorts(preferred, count);
  const bus = (await freePorts(first + busOffset, count)) - busOffset;
  return bus === first ? first : freeClusterPorts(bus, count);
}

export async function areFree(ports: readonly number[]): Promise<boolean> {
  return (await Promise.all(ports.map(isFree))).every(Boolean);
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    probe.listen({ host: '127.0.0.1', port, exclusive: true });
    await once(probe, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}
