/** A report names the servers that its run really had. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeMachine } from '../../src/lab/report/machine.ts';

const hasMysql = existsSync('.lockstep/mysql/usr/sbin/mysqld');

test('a run on MariaDB is labelled with the version of MariaDB', async () => {
  expect((await describeMachine('mariadb'))['database']).toMatch(/mariadbd .*MariaDB/);
});

test.skipIf(!hasMysql)('a run on MySQL is labelled with the version of MySQL', async () => {
  expect((await describeMachine('mysql'))['database']).toMatch(/^mysqld +Ver \d+\./);
});
