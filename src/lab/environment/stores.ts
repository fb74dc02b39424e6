/**
 * The servers that keep data, the page, and the configuration by which the service reaches its
 * stores.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { labTokenSecret } from '../../service/config.ts';
import type { Server } from './processes.ts';
import { priorityOfMain } from './sentinels.ts';
import { type Database, databaseServer, databaseUrl } from './servers/database.ts';
import { rabbitmqServers, rabbitmqUrl } from './servers/rabbitmq.ts';
import { orderRedisSettings, redisServer } from './servers/redis.ts';
import type { ServiceShape } from './servers/service.ts';
import { zookeeperServer } from './servers/zookeeper.ts';
import type { Ports } from './state.ts';

export function stores(
  folder: string,
  { mysql, redisMain, redisLab }: Ports,
  database: Database,
  shape: ServiceShape,
): Server[] {
  return [
    databaseServer(database, folder, mysql),
    redisServer('redis-lab', folder, redisLab, 'never'),
    redisServer('redis-main', folder, redisMain, 'always', {
      'replica-priority': priorityOfMain,
      ...orderRedisSettings(shape),
    }),
  ];
}

/** A process of its own, which plays what its viewers choose. */
const entry = fileURLToPath(new URL('../../../dist/page/server/main.js', import.meta.url));

export const pageName = 'page';

const pageServer = (folder: string, port: number): Server => ({
  name: pageName,
  port,
  program: () => ({
    command: process.execPath,
    args: [entry, folder],
    logFile: join(folder, `${pageName}.log`),
  }),
  answers: async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok,
});

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
