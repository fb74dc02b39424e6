/**
 * Closes the test run: what did not run, by name, and the line that continuous integration reads,
 * `N passed, N failed`. The counts are also in `runs/tests/counts.json`, for a sum of several runs.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { timesFolder } from './times.ts';

export default class ClosingLine implements Reporter {
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
