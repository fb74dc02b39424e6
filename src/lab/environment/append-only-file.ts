/**
 * The append-only file of a Redis: how much is written, and how much of it was synced to disk.
 * `kill -9` loses nothing of what is written, because the page cache survives it; a power loss
 * keeps only what was synced.
 */

import { appendFileSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { labError } from '../errors.ts';
import { withRedis } from './replication.ts';

/** The part that Redis writes to now. @param data the folder of the Redis */
export function appendOnlyFile(data: string): string {
  const folder = join(data, 'appendonlydir');
  const manifest = readFileSync(join(folder, 'appendonly.aof.manifest'), 'utf8');
  const names = [...manifest.matchAll(/^file (\S+) seq \d+ type i/gm)].map(([, name = '']) => name);
  return join(folder, names.at(-1) ?? '');
}

/** Commands as Redis writes them. */
export const asCommand = (...words: string[]): string =>
  [`*${words.length}`, ...words.flatMap((word) => [`$${word.length}`, word]), ''].join('\r\n');

/** Power loss: the file keeps its first `bytes`, and then half of the next transaction. */
export function cutOff(file: string, bytes: number): void {
  truncateSync(file, bytes);
  appendFileSync(file, `${asCommand('MULTI')}*4\r\n$7\r\nHINCRBY\r\n$9\r\n{sale`);
}

export interface SyncWatch {
  /** When a sync was last seen, by `performance.now()`; null before. */
  readonly lastAtMs: number | null;
  /** The next sync is not near. */
  readonly isBetweenSyncs: boolean;
  /** The most that the last sync can have covered. */
  readonly syncedBytes: number;
  end(): void;
}

const lookEveryMs = 2;
/** Redis syncs once in a second. */
const longestAfterMs = 500;

/**
 * With `always`, Redis syncs before it answers: all that it answered is synced. With `everysec`,
 * one of its threads does nothing but that, and so each time it runs is a sync. The file is
 * measured after it: nothing that was synced is taken for lost.
 */
export async function watchSyncs(data: string, pid: number, port: number): Promise<SyncWatch> {
  if ((await policyOf(port)) === 'always') return alwaysSynced(data);
  const file = appendOnlyFile(data);
  const status = `/proc/${pid}/task/${syncThread(pid)}/status`;
  let turns = turnsOf(status);
  const watch = {
    lastAtMs: null as number | null,
    syncedBytes: 0,
    get isBetweenSyncs() {
      return this.lastAtMs !== null && performance.now() - this.lastAtMs < longestAfterMs;
    },
    end: () => clearInterval(looking),
  };
  const look = () => {
    const now = turnsOf(status);
    if (now === null || now === turns) return; // Null: it was killed.
    turns = now;
    watch.syncedBytes = statSync(file).size;
    watch.lastAtMs = performance.now();
  };
  const looking = setInterval(look, lookEveryMs);
  return watch;
}

const alwaysSynced = (data: string): SyncWatch => ({
  lastAtMs: performance.now(),
  isBetweenSyncs: true,
  get syncedBytes() {
    return statSync(appendOnlyFile(data)).size;
  },
  end: () => {},
});

/** What the server does, and not what it was told at its start. */
const policyOf = (port: number): Promise<string> =>
  withRedis(port, async (redis) => {
    const [, policy = ''] = (await redis.config('GET', 'appendfsync')) as string[];
    return policy;
  });

/** Redis names its threads. @throws SYNCS_NOT_SEEN */
function syncThread(pid: number): string {
  const threads = readdirSync(`/proc/${pid}/task`);
  const found = threads.find((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').startsWith('bio_aof'),
  );
  if (!found) throw labError('SYNCS_NOT_SEEN', pid);
  return found;
}

/** How often the thread went to sleep; null when there is no such thread any more. */
function turnsOf(status: string): number | null {
  try {
    const [, turns] = /^voluntary_ctxt_switches:\s*(\d+)/m.exec(readFileSync(status, 'utf8')) ?? [];
    return Number(turns);
  } catch {
    return null;
  }
}

/** False while it has writes that it could not append to its file. */
export const redisAppends = (port: number): Promise<boolean> =>
  withRedis(port, async (redis) =>
    (await redis.info('persistence')).includes('aof_last_write_status:ok'),
  );
