/** Faults of a Redis: of what it stores, of its disk and memory, and of its replication. */

import { randomUUID } from 'node:crypto';
import { appendFileSync, statSync, truncateSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { orderGroup, saleKeys } from '../../service/connections/sale-keys.ts';
import {
  appendOnlyFile,
  asCommand,
  cutOff,
  type SyncWatch,
  watchSyncs,
} from '../environment/append-only-file.ts';
import { keepCopy } from '../environment/data-folder.ts';
import type { Lab } from '../environment/lab.ts';
import { withRedis } from '../environment/replication.ts';
import type { ProxyName } from '../environment/servers/proxies.ts';
import { waitUntil } from '../environment/wait-until.ts';
import {
  ends,
  type Fault,
  type FaultRow,
  isSpoiled,
  momentary,
  type WatchedFault,
} from './fault.ts';

/** FLUSHALL on a Redis: every key is gone, and every connection stays. The undo gives them back. */
export const flushAll = (name: string): Fault => ({
  name: `flush ${name}`,
  async inject(lab) {
    keepCopy(lab.dataFolder(name));
    await withRedis(lab.portOf(name), (redis) => redis.flushall());
    return () => lab.restoreData(name);
  },
});

/** FLUSHALL on redis-main, and nothing is given back: a rebuild must mend it. */
export const loseKeys = momentary('flush redis-main', (lab) =>
  withRedis(lab.portOf('redis-main'), (redis) => redis.flushall()),
);

/** SCRIPT FLUSH on a Redis: it knows no script any more. Clients send the scripts again. */
export const flushScripts = (name: string): WatchedFault => ({
  ...momentary(`flush the scripts of ${name}`, (lab) =>
    withRedis(lab.portOf(name), (redis) => redis.script('FLUSH')),
  ),
  /** A script of its own is known before, and must not be known after it. */
  async watch(lab) {
    const ask = <T>(work: (redis: Redis) => Promise<T>) => withRedis(lab.portOf(name), work);
    const script = `return '${randomUUID()}'`;
    const hash = String(await ask((redis) => redis.script('LOAD', script)));
    return () => ask(async (redis) => Number(await redis.script('EXISTS', hash)) === 0);
  },
});

/**
 * The disk of a Redis is full. With `appendfsync everysec` it answers the next write, which is then
 * only in memory, and refuses all others (MISCONF) until there is space. With `always` it ends at
 * the next write, because it cannot keep its promise.
 */
export const fullDisk = (name: string): Fault => ({
  name: `fill the disk of ${name}`,
  async inject(lab) {
    await lab.fillDisk(name);
    return () => lab.clearDisk(name);
  },
});

/**
 * A Redis may use little more memory than it uses now. When that is used up, it refuses every write
 * that needs some (OOM), as `maxmemory-policy noeviction` says, until memory is freed.
 */
export const limitMemory = (name: string, moreBytes: number): Fault => ({
  name: `limit the memory of ${name}`,
  async inject(lab) {
    const port = lab.portOf(name);
    await withRedis(port, async (redis) => {
      const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
      await redis.config('SET', 'maxmemory', String(used + moreBytes));
    });
    return () =>
      withRedis(port, async (redis) => {
        await redis.config('SET', 'maxmemory', '0');
      });
  },
});

/**
 * A Redis is killed, and starts again without the consumer group of the orders: its append-only
 * file says so. The orders are still in the stream. A worker creates the group again.
 */
export const loseGroup = (name: string): Fault =>
  momentary(`lose the consumer group of ${name}`, (lab) =>
    lab.restart(name, () => {
      const file = appendOnlyFile(lab.dataFolder(name));
      for (const { orders } of saleKeys(1).shards)
        appendFileSync(file, asCommand('XGROUP', 'DESTROY', orders, orderGroup));
    }),
  );

/**
 * A Redis is killed, and the end of its append-only file is missing when it starts again: the disk
 * had not kept it, as after a power loss. Killing alone never shows that, since the pages of the
 * file stay in memory.
 * @returns the fault that takes this Redis back to now.
 */
export function rollBackTo(lab: Lab, name: string): Fault {
  const file = appendOnlyFile(lab.dataFolder(name));
  const { size } = statSync(file);
  return momentary(`cut the append-only file of ${name}`, (own) =>
    own.restart(name, () => truncateSync(file, size)),
  );
}

const syncWithinMs = 10_000;

/**
 * Power loss of a Redis: it is killed, its append-only file keeps what was synced to disk, and it
 * starts again. The moment is between two syncs, after as many writes as the caller waits for.
 * @param isWritten true once enough was written since this moment of `performance.now()`
 */
export const cutPower = (name: string, isWritten: (sinceMs: number) => boolean): Fault =>
  momentary(`cut the power of ${name}`, async (lab) => {
    const data = lab.dataFolder(name);
    const watch = await watchSyncs(data, lab.pidOf(name), lab.portOf(name));
    try {
      await waitUntil('writes after a sync', syncWithinMs, between(watch, isWritten), 1);
    } finally {
      watch.end(); // Before the kill: a thread that ends looks like one that syncs.
    }
    await lab.restart(name, () => cutOff(appendOnlyFile(data), watch.syncedBytes));
  });

function between(watch: SyncWatch, isWritten: (sinceMs: number) => boolean): () => boolean {
  const startMs = performance.now();
  return () => {
    const { lastAtMs, isBetweenSyncs } = watch;
    return isBetweenSyncs && isWritten(Math.max(startMs, lastAtMs ?? 0));
  };
}

/**
 * The replica copies a Redis, and then hears nothing more of it: what is written from now on is
 * only in the master. Pausing the replica would not do: once resumed, it reads what waits in its
 * connection.
 */
export const holdReplication = (name: ProxyName): WatchedFault => ({
  name: `hold the replication of ${name}`,
  watch: isSpoiled('replication'),
  async inject(lab) {
    const network = lab.network('proxied');
    await network.replicate(name);
    await network.spoil('replication', { type: 'timeout', stream: 'downstream' });
    return () => network.heal();
  },
});

/**
 * A Redis is killed, and its replica becomes the master with what it has; clients reach the replica
 * by the old address. The undo gives the place and the replica's data to the old master.
 */
export const promoteReplica = (name: ProxyName): WatchedFault => ({
  name: `promote the replica of ${name}`,
  async watch(lab) {
    const ended = await ends(name)(lab);
    return async () => (await ended()) && lab.network('proxied').isReplaced(name);
  },
  async inject(lab) {
    const network = lab.network('proxied');
    await lab.server(name).kill();
    await network.promoteReplica(name);
    return async () => {
      await lab.server(name).start();
      await network.heal();
    };
  },
});

/**
 * A replica hears nothing more of its master, which does not notice at once: the replica is paused,
 * and its connection stays open. To join again it is killed, and starts with what it had: resumed,
 * it would read what waits in the connection.
 */
export const cutReplica = (replica: string): Fault => ({
  name: `cut ${replica} off from its master`,
  async inject(lab) {
    await lab.server(replica).pause();
    return () => lab.restart(replica);
  },
});

export const redisFaults = {
  'flush-all': {
    hits: 'redis',
    done: {
      en: 'has lost every key (FLUSHALL); mended, it has a copy from before',
      zh: '丢了所有的 key（FLUSHALL）；修复时用之前的副本恢复',
    },
    on: flushAll,
  },
  'flush-scripts': {
    hits: 'redis',
    effect: 'momentary',
    done: { en: 'has forgotten its scripts', zh: '忘了所有脚本' },
    on: flushScripts,
  },
  'fill-disk': {
    hits: 'redis',
    effect: 'lasting',
    done: {
      en: 'has no space on its disk: it refuses writes, or ends',
      zh: '磁盘满了：拒绝写入，或者退出',
    },
    on: fullDisk,
  },
  'lose-group': { hits: 'redis', effect: 'momentary', on: loseGroup },
  'cut-replica': { hits: 'redis', on: cutReplica },
  'hold-replication': {
    hits: 'replication',
    effect: 'lasting',
    done: { en: 'has a replica that hears nothing more', zh: '的从节点收不到任何复制数据了' },
    on: holdReplication,
  },
  'promote-replica': {
    hits: 'replication',
    effect: 'lasting',
    done: { en: 'is killed, and its replica is the master', zh: '被杀掉，从节点成了主节点' },
    on: promoteReplica,
  },
} as const satisfies Record<string, FaultRow>;
