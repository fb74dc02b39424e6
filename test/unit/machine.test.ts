/** A report names the servers that its run really had. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeMachine, machineLine, versionLine } from '../../src/lab/report/machine.ts';

const hasMysql = existsSync('.lockstep/mysql/usr/sbin/mysqld');

test('a run on MariaDB is labelled with the version of MariaDB', async () => {
  expect((await describeMachine('mariadb'))['database']).toMatch(/mariadbd .*MariaDB/);
});

test.skipIf(!hasMysql)('a run on MySQL is labelled with the version of MySQL', async () => {
  expect((await describeMachine('mysql'))['database']).toMatch(/^mysqld +Ver \d+\./);
});

test('a version is none of the warnings of the program that says it', () => {
  const warning = '2026-11-29  8:21:31 0 [Warning] failed to retrieve the MAC address';
  const version = 'mariadbd  Ver 10.11.19-MariaDB-0+deb12u1';
  expect(versionLine(`${warning}\n${version}\n`)).toBe(version);
});

test('a machine in one line has the versions as numbers', () => {
  const redis = 'Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64';
  const mariadb = '/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu';
  const machine = { cores: '2 × CPU', memory: '24 GiB', kernel: '6.18.44-fc', node: 'v20.20.2' };
  const others = { redis, nginx: 'nginx version: nginx/1.22.1' };
  const line = '2 × CPU, 24 GiB, Linux 6.18.44-fc, Node 20.20.2, Redis 7.0.15';
  expect(machineLine({ ...machine, ...others, database: mariadb })).toBe(
    `${line}, MariaDB 10.11.19, nginx 1.22.1`,
  );
  expect(machineLine({ ...machine, ...others, database: 'mysqld  Ver 9.7.4-2 for Linux' })).toBe(
    `${line}, MySQL 9.7.4, nginx 1.22.1`,
  );
});
