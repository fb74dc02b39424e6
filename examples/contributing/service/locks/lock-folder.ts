/**
 * Idea. A folder on the disk: mkdir succeeds for one process only, and rmdir releases.
 * Holds while. All instances run on one machine, and every owner lives until its release.
 * Breaks when. The owner dies: its folder stays, and nobody can buy.
 * Source. The lock folders of shell scripts: `mkdir lock || exit 1`.
 */
import { mkdir, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultLeaseMs, type Lease, type Lock } from './lock.ts';
import { endlessLease } from './shared/leases.ts';
import { pollingLock } from './shared/polling.ts';

const retryMs = 20;

export interface LockFolderOptions {
  /** Where the lock folders are; the system's folder for temporary files without it. */
  readonly parent?: string;
}

export function lockFolder({ parent = tmpdir() }: LockFolderOptions = {}): Lock {
  async function attempt(resource: string): Promise<Lease | null> {
    const folder = join(parent, encodeURIComponent(resource));
    try {
      await mkdir(folder);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return null;
      throw cause; // The caller gets LockServiceUnavailable, with the resource and this cause.
    }
    return endlessLease(() => rmdir(folder));
  }

  return pollingLock(attempt, { leaseMs: defaultLeaseMs, retryMs });
}
