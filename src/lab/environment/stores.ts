/** The servers that keep data, and the configuration by which the service reaches them. */
import { labTokenSecret } from '../../service/config.ts';
import { type Database, databaseUrl } from './servers/database.ts';
import { mariadbServer } from './servers/mariadb.ts';
import { mysqlServer } from './servers/mysql.ts';
import { pageServer } from './servers/page.ts';
import { rabbitmqServers, rabbitmqUrl } from './servers/rabbitmq.ts';
import { orderRedisSettings, redisServer } from './servers/redis.ts';
import { priorityOfMain } from './servers/sentinel.ts';
import type { Server } from './servers/server.ts';
import type { ServiceShape } from './servers/service.ts';
import { zookeeperServer } from './servers/zookeeper.ts';
import type { Ports } from './state.ts';

export function stores(
  folder: string,
  { mysql, redisMain, redisLab }: Ports,
  database: Database,
  shape: ServiceShape,
): Server[] {
  const sql = { mariadb: mariadbServer, mysql: mysqlServer }[database];
  return [
    sql(folder, mysql),
    redisServer('redis-lab', folder, redisLab, 'never'),
    redisServer('redis-main', folder, redisMain, 'always', {
      'replica-priority': priorityOfMain,
      ...orderRedisSettings(shape),
    }),
  ];
}

/** The servers that only some rungs need, and the page. */
export const spareServers = {
  zookeeper: (folder: string, { zookeeper }: Ports) => [zookeeperServer(folder, zookeeper)],
  'redis-masters': (folder: string, { redlock }: Ports) =>
    redlock.map((port, index) => redisServer(`redis-${index + 1}`, folder, port, 'everysec')),
  rabbitmq: (folder: string, { rabbitmq }: Ports) => rabbitmqServers(folder, rabbitmq),
  page: (folder: string, { page }: Ports) => [pageServer(folder, page)],
} as const;
export type SpareServer = keyof typeof spareServers;

/** They start with the lab; the others when a rung that needs them is used. */
export const startedSpares: readonly SpareServer[] = ['zookeeper', 'redis-masters'];

export const storesEnvironment = ({
  mysql,
  zookeeper,
  rabbitmq,
  redisMain,
  redlock,
  redisLab,
}: Ports): Record<string, string> => ({
  MYSQL_URL: databaseUrl(mysql),
  REDIS_URL: `redis://127.0.0.1:${redisMain}`,
  REDLOCK_URLS: redlock.map((port) => `redis://127.0.0.1:${port}`).join(','),
  ZOOKEEPER_URL: `127.0.0.1:${zookeeper}`,
  RABBITMQ_URL: rabbitmqUrl(rabbitmq),
  TOKEN_SECRET: labTokenSecret,
  ALLOWED_RUNGS: 'all',
  LAB: '1',
  USER_TRIES_PER_SECOND: '0', // A rush of one user is an experiment here.
  LAB_REDIS_URL: `redis://127.0.0.1:${redisLab}`,
});
