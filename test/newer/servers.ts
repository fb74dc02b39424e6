/**
 * Two servers of the newer Redis, for the tests of the scripts, and the ZooKeeper that the contract
 * of locks asks; no database and no service. The newer nginx is first on the PATH of these tests
 * (vitest.config.ts).
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { OwnServer } from '../../src/lab/environment/own-redis.ts';
import { freePorts } from '../../src/lab/environment/ports.ts';
import { redisServer } from '../../src/lab/environment/servers/redis.ts';
import { zookeeperServer } from '../../src/lab/environment/servers/zookeeper.ts';
import { labTokenSecret } from '../../src/service/config.ts';
import { newDataFolder } from '../support/data-home.ts';
import { shortLeases } from '../support/lab.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = join(project.config.root, '.lockstep');
  const folder = newDataFolder();
  const port = await freePorts(17_700, 3);
  const command = join(home, 'redis/start/redis-server');
  const redis = ['redis-main', 'redis-1'].map((name, index) => {
    const server = redisServer(name, folder, port + index, 'everysec');
    return { ...server, program: () => ({ ...server.program(), command }) };
  });
  const servers = [...redis, zookeeperServer(folder, port + 2)].map((each) => new OwnServer(each));
  for (const server of servers) await server.start();
  const environment = {
    MYSQL_URL: 'mysql://nobody@127.0.0.1:1/none', // These tests send no SQL.
    REDIS_URL: `redis://127.0.0.1:${port}`,
    REDLOCK_URLS: `redis://127.0.0.1:${port + 1}`,
    ZOOKEEPER_URL: `127.0.0.1:${port + 2}`,
    TOKEN_SECRET: labTokenSecret,
    LAB: '1',
    ...shortLeases,
  };
  project.provide('workers', project.config.maxWorkers + 1); // As in lab.ts.
  project.provide('lab', { folder, baseUrl: '', environment });
  return async () => {
    for (const server of servers) await server.end();
    rmSync(folder, { recursive: true, force: true });
  };
}
