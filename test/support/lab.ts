/** Starts a lab for the tests, apart from the one that people use, and stops it afterwards. */
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { Lab } from '../../src/lab/lab.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly labFolder: string;
    readonly baseUrl: string;
    readonly environment: Record<string, string>;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = join(project.config.root, '.lockstep', 'test');
  const lab = await Lab.start(folder, () => {});
  project.provide('labFolder', folder);
  project.provide('baseUrl', lab.baseUrl);
  // Sessions that end soon, so that a test of a dead holder does too.
  project.provide('environment', { ...lab.environment, ZOOKEEPER_SESSION_MS: '1500' });
  return () => Lab.stop(folder);
}
