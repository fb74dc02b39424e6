import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
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
  'test/integration/{epoch,fences,frozen-connections,http,lost-answers,migrations}.test.ts',
  'test/integration/{order-ids-end-to-end,order-worker,transactions}.test.ts',
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
    include: withSql,
    sequence: { groupOrder: 2 },
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
    globalSetup: './test/support/newer-servers.ts',
    include: [
      'test/newer/*.test.ts',
      'test/integration/{nginx,purchase-script}.test.ts',
      'test/contracts/locks.test.ts',
    ],
    env: {
      PATH: [resolve('.lockstep/nginx/start'), process.env['PATH']].join(delimiter),
      LOCKS: 'redis-atomic,redis-reentrant,redis-fair', // The locks that are scripts of lua/.
    },
    sequence: { groupOrder: 3 },
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
      ...(hasNewer ? [newer] : []),
    ],
  },
});
