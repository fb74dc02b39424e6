/**
 * A Redis Cluster of masters without replicas, beside the servers of a lab, for as long as a
 * command needs it. The shards of the sale keys take turns over the masters.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { ShardKeys } from '../../service/connections/sale-keys.ts';
import { freeClusterPorts } from './ports.ts';
import type { ProcessRef } from './process-table.ts';
import { startProcess, stopProcess } from './processes.ts';
import { withRedis } from './replication.ts';
import { redisServer } from './servers/redis.ts';
import type { Server } from './servers/server.ts';
import { waitUntil } from './wait-until.ts';

const preferredPort = 19_600;
const slotCount = 16_384;

export interface RedisMasters {
  /** Of one of them, as REDIS_URL. */
  readonly url: string;
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

export async function startSaleMasters(
  labFolder: string,
  count: number,
  shards: readonly ShardKeys[],
): Promise<RedisMasters> {
  const folder = join(labFolder, 'masters');
  rmSync(folder, { recursive: true, force: true });
  const first = await freeClusterPorts(preferredPort, count);
  const masters = Array.from({ length: count }, (_, number) => master(folder, first + number));
  const running: ProcessRef[] = [];
  const stop = async () => {
    await Promise.all(running.map((ref) => stopProcess(ref)));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const server of masters) {
      await server.prepare?.();
      running.push(startProcess(server.program()));
      await waitUntil(`the master on port ${server.port}`, 10_000, server.answers);
    }
    await joinMasters(
      masters.map(({ port }) => port),
      shards,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  const pids = running.map(({ pid }) => pid);
  return { url: `redis://127.0.0.1:${first}`, pids, stop };
}

const master = (folder: string, port: number): Server =>
  redisServer(`master-${port}`, folder, port, 'always', { 'cluster-enabled': 'yes' });

async function joinMasters(ports: readonly number[], shards: readonly ShardKeys[]): Promise<void> {
  const [first = 0, ...others] = ports;
  const slots = await withRedis(first, (redis) => slotsOf(redis, shards));
  const owners = ownersOf(ports.length, slots);
  for (const [number, port] of ports.entries())
    await withRedis(port, async (redis) => {
      await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', String(number + 1));
      await redis.call('CLUSTER', 'ADDSLOTS', ...slotsWith(owners, number));
    });
  await withRedis(first, async (redis) => {
    for (const port of others) await redis.call('CLUSTER', 'MEET', '127.0.0.1', String(port));
  });
  const isComplete = async (port: number) => {
    const info = await withRedis(port, (redis) => redis.cluster('INFO'));
    return info.includes('cluster_state:ok') && info.includes(`cluster_size:${ports.length}`);
  };
  await waitUntil('the masters to know each other', 20_000, async () =>
    (await Promise.all(ports.map(isComplete))).every(Boolean),
  );
}

const slotsOf = (redis: Redis, shards: readonly ShardKeys[]): Promise<number[]> =>
  Promise.all(shards.map(({ orders }) => redis.cluster('KEYSLOT', orders)));

/** By slot: the number of its master. In a row, so that clients learn them in a few ranges. */
function ownersOf(count: number, slotsOfShards: readonly number[]): number[] {
  const owners = Array.from({ length: slotCount }, (_, slot) =>
    Math.floor((slot * count) / slotCount),
  );
  for (const [shard, slot] of slotsOfShards.entries()) owners[slot] = shard % count;
  return owners;
}

const slotsWith = (owners: readonly number[], number: number): string[] =>
  owners.flatMap((owner, slot) => (owner === number ? [String(slot)] : []));
