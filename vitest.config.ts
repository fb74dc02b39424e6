import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

const realServers = {
  globalSetup: './test/support/lab.ts',
  // So many files at once, each with a lab of its own (test/support/own-lab.ts): they mostly wait.
  maxWorkers: 2,
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

/** The tests in which SQL is sent: MySQL and MariaDB answer some statements differently. */
const withSql = [
  'test/contracts/inventories.test.ts',
  'test/integration/{epoch,fences,frozen-connections,http,lost-answers,migrations}.test.ts',
  'test/integration/{merged-commit,order-ids-end-to-end,order-worker}.test.ts',
  'test/integration/{transactions,unit-rows}.test.ts',
  'test/integration/voucher-creation.test.ts',
];
const hasMysql = existsSync('.lockstep/mysql/usr/sbin/mysqld');
if (!hasMysql)
  console.warn(
    'MYSQL IS MISSING: the tests on a real MySQL are NOT RUN. Get it: `npm run setup -- --with-mysql`',
  );
const mysql = {
  extends: true as const,
  test: {
    ...realServers,
    name: 'real MySQL',
    env: { LAB_DATABASE: 'mysql' },
    include: withSql,
    sequence: { groupOrder: 4 },
  },
};

/** The tests of the scripts and of nginx, on Redis 8.0 and nginx 1.30 too. */
const newerPrograms = ['.lockstep/redis/start/redis-server', '.lockstep/nginx/start/nginx'];
const hasNewer = newerPrograms.every((program) => existsSync(program));
if (!hasNewer)
  console.warn(
    'REDIS 8.0 OR NGINX 1.30 IS MISSING: the tests on them are NOT RUN. ' +
      'Get them: `npm run setup -- --with-redis --with-nginx`',
  );
const newer = {
  extends: true as const,
  test: {
    ...realServers,
    name: 'Redis 8.0, nginx 1.30',
    globalSetup: './test/support/newer-servers.ts', // All of these files share them.
    include: [
      'test/newer/*.test.ts',
      'test/integration/{nginx,purchase-script}.test.ts',
      'test/contracts/locks.test.ts',
    ],
    env: {
      PATH: [resolve('.lockstep/nginx/start'), process.env['PATH']].join(delimiter),
      LOCKS: 'redis-atomic,redis-reentrant,redis-fair', // The locks that are scripts of lua/.
    },
    sequence: { groupOrder: 4 },
  },
};

/** Their verdict is about time: how soon a lock sells again, how long an answer takes. */
const timed = ['test/drills/{hung-master,saturate,scoreboard,stop-masters}.test.ts'];

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line.ts', './test/support/times.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          maxWorkers: 2,
          isolate: false, // They leave no state behind: each module is loaded once for all files.
          testTimeout: 30_000, // On a busy machine.
        },
      },
      {
        extends: true,
        test: {
          ...realServers,
          name: 'real servers',
          env: { LAB_DATABASE: 'mariadb' },
          include: ['test/{contracts,integration}/**/*.test.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          ...realServers,
          name: 'drills',
          env: { LAB_DATABASE: 'mariadb' },
          include: ['test/drills/**/*.test.ts'],
          exclude: timed,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          ...realServers,
          name: 'drills alone',
          maxWorkers: 1, // Such a drill has both cores: a slow machine makes its verdict unknown.
          env: { LAB_DATABASE: 'mariadb' },
          include: timed,
          sequence: { groupOrder: 3 },
        },
      },
      ...(hasMysql ? [mysql] : []),
      ...(hasNewer ? [newer] : []),
    ],
  },
});
