/** What one process of the machine has at a time: loopback ports, and names. */
import { createHash } from 'node:crypto';
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

/**
 * A name that one process of the machine can have at a time. The kernel frees it when the process
 * ends, however it ends; a file would stay, and two processes could both take it over.
 * @returns the function that frees the name; null when another process has it.
 */
export async function takeName(name: string): Promise<(() => void) | null> {
  // A Unix socket without a file: such addresses begin with NUL, and are short.
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 32);
  const holder = createServer().unref();
  try {
    holder.listen(`\0lockstep-${digest}`);
    await once(holder, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return null;
  }
  return () => void holder.close();
}
