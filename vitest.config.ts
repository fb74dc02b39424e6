import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const realServers = {
  globalSetup: './test/support/lab.ts',
  fileParallelism: false, // Two cores, and one lab.
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

/** The tests in which SQL is sent: MySQL and MariaDB answer some statements differently. */
const withSql = [
  'test/contracts/inventories.test.ts',
  'test/integration/{frozen-connections,http,lost-answers,order-ids-end-to-end,order-worker,transactions}.test.ts',
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
    include: withSql,
    sequence: { groupOrder: 2 },
  },
};

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line.ts'],
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          ...realServers,
          name: 'real servers',
          include: ['test/{contracts,integration,drills}/**/*.test.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      ...(hasMysql ? [mysql] : []),
    ],
  },
});
