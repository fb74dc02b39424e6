/** Without these servers their projects are not run (vitest.config.ts): the run then says so. */
import { existsSync } from 'node:fs';
import { test } from 'vitest';

const servers = {
  'MySQL: npm run setup -- --with-mysql': 'mysql/usr/sbin/mysqld',
  'Redis 8.0: npm run setup -- --with-redis': 'redis/start/redis-server',
  'nginx 1.30: npm run setup -- --with-nginx': 'nginx/start/nginx',
};

for (const [name, program] of Object.entries(servers))
  test(`the tests on ${name}`, ({ skip }) => skip(!existsSync(`.lockstep/${program}`)));
