/** Starts a lab for the tests, apart from the one that people use, and stops it afterwards. */
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { Lab } from '../../src/lab/environment/lab.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly labFolder: string;
    readonly baseUrl: string;
    readonly environment: Record<string, string>;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const database = project.name === 'real MySQL' ? 'mysql' : 'mariadb';
  const folder = join(project.config.root, '.lockstep', `test-${database}`);
  const lab = await Lab.start(folder, () => {}, { database });
  project.provide('labFolder', folder);
  project.provide('baseUrl', lab.baseUrl);
  // Sessions and leases that end soon, so that a test of a dead holder does too.
  const soon = { ZOOKEEPER_SESSION_MS: '1500', LOCK_LEASE_MS: '1500', LOCK_WATCHDOG_MS: '1500' };
  project.provide('environment', { ...lab.environment, ...soon });
  return () => Lab.stop(folder);
}
