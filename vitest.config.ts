/**
 * The tests in two lengths. `npm test` runs the projects unit, contracts, integration, security and
 * drills; `npm run test:all` also runs those whose name begins with `long`. `npm run mutants` has
 * one of its own: it builds the locks without one of their defences after the other.
 */
import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { ClosingLine, LongestFirst, Times } from './test/support/runner.ts';

// As in scripts/on-node.mjs: processes that a test starts load faster. A copy has no scripts/.
process.env['NODE_COMPILE_CACHE'] ??= resolve('.lockstep/compile-cache');

const realServers = {
  globalSetup: './test/support/lab.ts',
  // So many files at once, each with a lab of its own (test/support/own-lab.ts): they mostly wait.
  maxWorkers: 4,
  isolate: false,
  setupFiles: './test/support/each-file.ts',
  // No test is red because the machine is slow: these end a wait that would never end.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000 } },
};
type Settings = NonNullable<TestProjectInlineConfiguration['test']>;

/** Projects with another `groupOrder` run one after the other. */
const project = (name: string, groupOrder: number, settings: Settings) => ({
  extends: true as const,
  test: { ...settings, name, sequence: { groupOrder } },
});
const onMariadb = (name: string, groupOrder: number, include: string, settings: Settings = {}) =>
  project(name, groupOrder, {
    ...realServers,
    ...settings,
    env: { LAB_DATABASE: 'mariadb' },
    include: [include],
  });

/** The tests in which SQL is sent: MySQL and MariaDB answer some statements differently. */
const withSql = [
  'test/contracts/inventories.test.ts',
  'test/integration/{epoch,fences,frozen-connections,http,lost-answers,migrations}.test.ts',
  'test/integration/{merged-commit,order-ids-end-to-end,order-worker}.test.ts',
  'test/integration/{time-zones,transactions,unit-rows}.test.ts',
  'test/integration/{voucher-changes,voucher-creation}.test.ts',
];
const hasMysql = existsSync('.lockstep/mysql/usr/sbin/mysqld');
const mysql = project('long MySQL', 8, {
  ...realServers,
  env: { LAB_DATABASE: 'mysql' },
  include: withSql,
});

/** The tests of the scripts and of nginx, on Redis 8.0 and nginx 1.30 too. */
const newerPrograms = ['.lockstep/redis/start/redis-server', '.lockstep/nginx/start/nginx'];
const hasNewer = newerPrograms.every((program) => existsSync(program));
const newer = project('long Redis 8.0, nginx 1.30', 8, {
  ...realServers,
  globalSetup: './test/newer/servers.ts', // All of these files share them.
  include: [
    'test/newer/*.test.ts',
    'test/integration/{nginx,purchase-script}.test.ts',
    'test/contracts/locks.test.ts',
  ],
  env: {
    PATH: [resolve('.lockstep/nginx/start'), process.env['PATH']].join(delimiter),
    LOCKS: 'redis-atomic,redis-reentrant,redis-fair', // The locks that are scripts of lua/.
  },
});

/** In groups. Those of one group run at the same time, file by file. */
export const projects = [
  project('unit', 0, {
    include: ['test/unit/*.test.ts'],
    maxWorkers: 2,
    isolate: false, // They leave no state behind: each module is loaded once for all files.
    testTimeout: 30_000, // On a busy machine.
  }),
  onMariadb('contracts', 1, 'test/contracts/*.test.ts'),
  onMariadb('integration', 1, 'test/integration/*.test.ts'),
  onMariadb('security', 1, 'test/security/*.test.ts'),
  onMariadb('drills', 1, 'test/drills/*.test.ts'),
  onMariadb('long', 5, 'test/long/*.test.ts'),
  // They send a load: with two at once it is about as large as it should be. No verdict needs that.
  onMariadb('long loads', 6, 'test/long/loads/*.test.ts', { maxWorkers: 2 }),
  mysql,
  newer,
  onMariadb('mutants', 10, 'test/mutants/*.test.ts', {
    maxWorkers: 1,
    testTimeout: 240_000,
    retry: 1, // A server may lose its port to another lab while it starts.
  }),
];
/** Where their servers are missing, test/long/newer-servers.test.ts says so. */
const isPossible = (each: unknown): boolean =>
  (each !== mysql || hasMysql) && (each !== newer || hasNewer);

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLine(), new Times()],
    sequence: { sequencer: LongestFirst },
    projects: projects.filter(isPossible),
  },
});
