/**
 * The labs of the tests, apart from the one that people use: each worker has its own, and its first
 * file starts it (own-lab.ts). All of them are stopped afterwards.
 */
import { cpSync, existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { Lab } from '../../src/lab/environment/lab.ts';
import { isInMemory, labHome } from './data-home.ts';

export interface TestLab {
  readonly folder: string;
  readonly baseUrl: string;
  /** The service's configuration. */
  readonly environment: Readonly<Record<string, string>>;
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the workers start none themselves. */
    readonly lab: TestLab;
    /** So many workers have a number: their labs and ports are their own. */
    readonly workers: number;
  }
}

/** Sessions and leases that end soon, so that a test of a dead holder does too. */
export const shortLeases = {
  ZOOKEEPER_SESSION_MS: '1500',
  LOCK_LEASE_MS: '1500',
  LOCK_WATCHDOG_MS: '1500',
} as const;

/** @param root the folder of the project */
export const testLabFolder = (root: string, database: string, worker: number): string =>
  join(labHome(root), `test-${database}-${worker}`);

export default function setup(project: TestProject): () => Promise<void> {
  const { config } = project;
  const most = config.maxWorkers + 1; // A worker of another project may still be ending.
  project.provide('workers', most);
  const database = config.env['LAB_DATABASE'] ?? '';
  const workers = Array.from({ length: most }, (_, index) => index + 1);
  return async () => {
    const folders = workers.map((worker) => testLabFolder(config.root, database, worker));
    await Promise.all(folders.map((folder) => Lab.stop(folder)));
    if (isInMemory) for (const folder of folders) keepLogs(folder, join(config.root, '.lockstep'));
  };
}

/** Moves the logs to the disk, and frees the memory. */
function keepLogs(folder: string, to: string): void {
  if (!existsSync(folder)) return; // Another project of the run had the same lab.
  const kept = join(to, basename(folder));
  rmSync(kept, { recursive: true, force: true });
  for (const name of readdirSync(folder))
    if (name.endsWith('.log')) cpSync(join(folder, name), join(kept, name));
  rmSync(folder, { recursive: true, force: true });
  const home = dirname(folder);
  if (readdirSync(home).length === 0) rmdirSync(home);
}
