/**
 * How many replicas a master has, also those that are cut off from it at this moment. WAIT counts
 * acknowledgements, and not whose they are: only when all replicas have an order, every one that
 * may be promoted has it. A `replica-priority` changes nothing about that.
 */
import { Cluster, type Redis } from 'ioredis';
import type { Connections } from './connections.ts';

/** Of the master that has the most. */
export async function mostReplicas(
  connections: Connections,
  masters: readonly Redis[],
): Promise<number> {
  const redis: object = connections.redis('admin');
  const attached = await Promise.all(masters.map(attachedTo));
  const known =
    redis instanceof Cluster ? await ofCluster(masters) : connections.sentinelReplicas();
  return Math.max(...attached, ...(await known));
}

async function attachedTo(master: Redis): Promise<number> {
  const info = await master.info('replication');
  // A backup by SYNC has no port, and nobody promotes it.
  return [...info.matchAll(/^slave\d+:.*\bport=[1-9]/gm)].length;
}

/** As one of its masters knows it; a replica that has failed cannot be promoted. */
async function ofCluster(masters: readonly Redis[]): Promise<number[]> {
  const asked = masters.map((master) => master.cluster('NODES') as Promise<string>);
  const nodes = await Promise.any(asked).catch((error: AggregateError) => {
    throw error.errors[0];
  });
  const counts = new Map<string, number>();
  for (const line of nodes.split('\n')) {
    const [, , flags = '', master = ''] = line.split(' ');
    const words = flags.split(',');
    if (words.includes('slave') && !words.includes('fail'))
      counts.set(master, (counts.get(master) ?? 0) + 1);
  }
  return [...counts.values()];
}
