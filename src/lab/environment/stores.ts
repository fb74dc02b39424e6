/** The servers that keep data, and the configuration by which the service reaches them. */
import { labTokenSecret } from '../../config.ts';
import { type Database, databaseUrl } from './servers/database.ts';
import { mariadbServer } from './servers/mariadb.ts';
import { mysqlServer } from './servers/mysql.ts';
import { redisServer } from './servers/redis.ts';
import type { Server } from './servers/server.ts';
import { zookeeperServer } from './servers/zookeeper.ts';
import type { Ports } from './state.ts';

export function stores(
  folder: string,
  { mysql, zookeeper, redisMain, redlock }: Ports,
  database: Database,
): Server[] {
  const sql = { mariadb: mariadbServer, mysql: mysqlServer }[database];
  return [
    sql(folder, mysql),
    redisServer('redis-main', folder, redisMain, 'always'),
    zookeeperServer(folder, zookeeper),
    ...redlock.map((port, index) => redisServer(`redis-${index + 1}`, folder, port, 'everysec')),
  ];
}

export const storesEnvironment = ({
  mysql,
  zookeeper,
  redisMain,
  redlock,
}: Ports): Record<string, string> => ({
  MYSQL_URL: databaseUrl(mysql),
  REDIS_URL: `redis://127.0.0.1:${redisMain}`,
  REDLOCK_URLS: redlock.map((port) => `redis://127.0.0.1:${port}`).join(','),
  ZOOKEEPER_URL: `127.0.0.1:${zookeeper}`,
  TOKEN_SECRET: labTokenSecret,
  ALLOWED_RUNGS: 'all',
  LAB: '1',
});
