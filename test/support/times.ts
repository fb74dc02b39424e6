/**
 * Writes `runs/tests/<project>.json` for each project of the run: the seconds of each file, for
 * `npm run test:times`. Servers start while a file is imported and in its hooks, so these seconds
 * are apart from those of its tests.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

export interface FileTimes {
  readonly file: string;
  /** Of the imports and the hooks: the lab starts and changes its shape there. */
  readonly serversSeconds: number;
  readonly testsSeconds: number;
}

export const timesFolder = (root: string): string => join(root, 'runs', 'tests');

export default class Times implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const byProject = new Map<string, FileTimes[]>();
    for (const module of modules) {
      const { name } = module.project;
      byProject.set(name, [...(byProject.get(name) ?? []), timesOf(module)]);
    }
    for (const [name, files] of byProject) write(name, files);
  }
}

function timesOf(module: TestModule): FileTimes {
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  let testsMs = 0;
  for (const test of module.children.allTests()) testsMs += test.diagnostic()?.duration ?? 0;
  const serversMs = collectDuration + setupDuration + Math.max(0, duration - testsMs);
  return {
    file: module.relativeModuleId,
    serversSeconds: serversMs / 1_000,
    testsSeconds: testsMs / 1_000,
  };
}

function write(project: string, files: readonly FileTimes[]): void {
  const folder = timesFolder(process.cwd());
  mkdirSync(folder, { recursive: true });
  const name = project.replaceAll(/[^a-z0-9]+/gi, '-');
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ project, files }, null, 2));
}
