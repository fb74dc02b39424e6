/**
 * Idea. A folder on the disk: mkdir succeeds for one process only, and rmdir releases.
 * Holds while. All instances run on one machine, and every owner lives until its release.
 * Breaks when. The owner dies: its folder stays, and nobody can buy.
 * Source. The lock folders of shell scripts: `mkdir lock || exit 1`.
 */
import { mkdir, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lease, Lock } from './lock.ts';
import { endlessLease } from './shared/leases.ts';
import { type KeyAttempt, pollingLock } from './shared/server-lock.ts';

export interface LockFolderOptions {
  /** Where the lock folders are; the system's folder for temporary files without it. */
  readonly parent?: string;
}

export function lockFolder({ parent = tmpdir() }: LockFolderOptions = {}): Lock {
  async function attempt({ resource }: KeyAttempt): Promise<Lease | null> {
    const folder = join(parent, encodeURIComponent(resource));
    try {
      await mkdir(folder);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return null;
      throw cause; // The caller gets LockServiceUnavailable, with the resource and this cause.
    }
    return endlessLease(() => rmdir(folder));
  }

  return pollingLock({}, attempt);
}
