/** How the tests run: the longest files first; how long each took; the line at the end. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BaseSequencer,
  type Reporter,
  type TestModule,
  type TestSpecification,
  type Vitest,
} from 'vitest/node';

/** By folder, in this order. Those that are not named take less than 20 seconds. */
const longest = Object.entries({
  contracts: 'locks queues inventories',
  drills: 'races mutants command-line rushes fault',
  integration:
    'page consumers tls voucher-changes service-start order-worker dead-letters service-life ' +
    'order-ids-end-to-end bucket-stock epoch order-events stop-overdue',
  long:
    'mutants workshop alerts faults rushes races choices sentinel-network accepted-is-not-sold ' +
    'progress page all-orders choices-worker sentinel shards',
  'long/loads':
    'drills k6 bench page-runs break soak lock-storm stop-masters k6-failover ' +
    'race-drills demo',
}).flatMap(([folder, names]) => names.split(' ').map((name) => `/test/${folder}/${name}.test.ts`));

/** Files of one project follow each other: a worker loads its modules anew for another project. */
const projects = ['contracts', 'drills', 'security', 'integration'];

const rank = ({ moduleId, project }: TestSpecification): number => {
  const place = longest.findIndex((name) => moduleId.endsWith(name));
  const group = projects.indexOf(project.name) * longest.length * 2;
  return group + (place < 0 ? longest.length : place);
};

/** So that none of the longest files of a project runs alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

interface FileTimes {
  readonly file: string;
  /** Of the imports and the hooks: the lab starts and changes its shape there. */
  readonly serversSeconds: number;
  readonly testsSeconds: number;
}

const timesFolder = (root: string): string => join(root, 'runs', 'tests');

/**
 * Writes `runs/tests/<project>.json` for each project of the run: the seconds of each file, for
 * `npm run test:times`. Servers start while a file is imported and in its hooks, so these seconds
 * are apart from those of its tests.
 */
export class Times implements Reporter {
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

/**
 * What did not run, by name, and the line that continuous integration reads, `N passed, N failed`.
 * The counts are also in `runs/tests/counts.json`, for a sum of several runs.
 */
export class ClosingLine implements Reporter {
  /** The caller has named the tests: all others are left out on purpose. */
  #isChosen = false;

  onInit({ config }: Vitest): void {
    this.#isChosen = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const notRun: string[] = [];
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        counts[state === 'pending' ? 'skipped' : state] += 1;
        if (state === 'skipped' && !this.#isChosen)
          notRun.push(`${module.relativeModuleId}: ${test.fullName}`);
      }
      counts.failed += module.errors().length;
    }
    const folder = timesFolder(process.cwd());
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'counts.json'), JSON.stringify(counts));
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
    process.on('exit', () => {
      for (const name of notRun) console.log(`NOT RUN: ${name}`);
      console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`);
    });
  }
}
