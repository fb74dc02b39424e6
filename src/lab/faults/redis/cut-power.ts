/**
 * Power loss of a Redis: it is killed, its append-only file keeps what was synced to disk, and it
 * starts again. The moment is between two syncs, after as many writes as the caller waits for.
 */

import {
  appendOnlyFile,
  cutOff,
  type SyncWatch,
  watchSyncs,
} from '../../environment/append-only-file.ts';
import type { Lab } from '../../environment/lab.ts';
import { waitUntil } from '../../environment/wait-until.ts';
import type { Fault } from '../fault.ts';

const syncWithinMs = 10_000;

/** @param isWritten true once enough was written since this moment of `performance.now()`. */
export const cutPower = (name: string, isWritten: (sinceMs: number) => boolean): Fault => ({
  name: `cut the power of ${name}`,
  async inject(lab: Lab) {
    const data = lab.dataFolder(name);
    const watch = await watchSyncs(data, lab.pidOf(name), lab.portOf(name));
    try {
      await waitUntil('writes after a sync', syncWithinMs, between(watch, isWritten), 1);
    } finally {
      watch.end(); // Before the kill: a thread that ends looks like one that syncs.
    }
    await lab.server(name).kill();
    cutOff(appendOnlyFile(data), watch.syncedBytes);
    await lab.server(name).start();
    return async () => {};
  },
});

function between(watch: SyncWatch, isWritten: (sinceMs: number) => boolean): () => boolean {
  const startMs = performance.now();
  return () => {
    const { lastAtMs, isBetweenSyncs } = watch;
    return isBetweenSyncs && isWritten(Math.max(startMs, lastAtMs ?? 0));
  };
}
