/**
 * A Redis Cluster of masters without replicas, beside the servers of a lab, for as long as a
 * command needs it. The shards of the sale keys take turns over the masters.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { ShardKeys } from '../../service/connections/sale-keys.ts';
import { OwnRedis } from './own-redis.ts';
import { freeClusterPorts } from './ports.ts';
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
  const stop = async () => {
    await Promise.all(masters.map((each) => each.end()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const each of masters) await each.start();
    await joinMasters(masters, shards);
  } catch (error) {
    await stop();
    throw error;
  }
  const pids = masters.map((each) => each.process.pid);
  return { url: `redis://127.0.0.1:${first}`, pids, stop };
}

const master = (folder: string, port: number): OwnRedis =>
  new OwnRedis({ folder, port, name: `master-${port}`, settings: { 'cluster-enabled': 'yes' } });

async function joinMasters(
  masters: readonly OwnRedis[],
  shards: readonly ShardKeys[],
): Promise<void> {
  const [first, ...others] = masters;
  if (!first) return;
  const owners = ownersOf(masters.length, await slotsOf(first.admin, shards));
  for (const [number, { admin }] of masters.entries()) {
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', String(number + 1));
    await admin.call('CLUSTER', 'ADDSLOTS', ...slotsWith(owners, number));
  }
  for (const { port } of others)
    await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', String(port));
  const isComplete = async ({ admin }: OwnRedis) => {
    const info = await admin.cluster('INFO');
    return info.includes('cluster_state:ok') && info.includes(`cluster_size:${masters.length}`);
  };
  await waitUntil('the masters to know each other', 20_000, async () =>
    (await Promise.all(masters.map(isComplete))).every(Boolean),
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
