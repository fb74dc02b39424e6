/** The servers that keep data, and the configuration by which the service reaches them. */
import { rungNames } from '../../ladder/rungs.ts';
import { mariadbServer, mariadbUrl } from './servers/mariadb.ts';
import { redisServer } from './servers/redis.ts';
import type { Server } from './servers/server.ts';
import { zookeeperServer } from './servers/zookeeper.ts';
import type { Ports } from './state.ts';

/** Signs the lab's tokens, also in k6. Not a secret: the lab listens on loopback only. */
export const labTokenSecret = 'lockstep-lab-secret-that-signs-tokens';

export function stores(
  folder: string,
  { mariadb, zookeeper, redisMain, redlock }: Ports,
): Server[] {
  return [
    mariadbServer(folder, mariadb),
    redisServer('redis-main', folder, redisMain, 'always'),
    zookeeperServer(folder, zookeeper),
    ...redlock.map((port, index) => redisServer(`redis-${index + 1}`, folder, port, 'everysec')),
  ];
}

export const storesEnvironment = ({
  mariadb,
  zookeeper,
  redisMain,
  redlock,
}: Ports): Record<string, string> => ({
  MYSQL_URL: mariadbUrl(mariadb),
  REDIS_URL: `redis://127.0.0.1:${redisMain}`,
  REDLOCK_URLS: redlock.map((port) => `redis://127.0.0.1:${port}`).join(','),
  ZOOKEEPER_URL: `127.0.0.1:${zookeeper}`,
  TOKEN_SECRET: labTokenSecret,
  ALLOWED_RUNGS: rungNames.join(','),
  LAB: '1',
});
