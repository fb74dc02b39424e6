/** The folder of the lab and that of the reports, unless the environment names others. */
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export const defaultProgram = 'npx lockstep';

export interface WorkFolders {
  readonly labFolder: string;
  readonly runsFolder: string;
  /** As a person types it. */
  readonly program: string;
  /** Has workshop/, the files of the exercises, and the progress of the workshop. */
  readonly workshopHome: string;
}

export const workFolders = (env: NodeJS.ProcessEnv): WorkFolders => ({
  labFolder: resolve(env['LOCKSTEP_LAB'] ?? join(root, '.lockstep', 'main')),
  runsFolder: resolve(env['LOCKSTEP_RUNS'] ?? join(root, 'runs')),
  program: env['LOCKSTEP_PROGRAM'] ?? defaultProgram,
  workshopHome: resolve(env['LOCKSTEP_WORKSHOP'] ?? root),
});
