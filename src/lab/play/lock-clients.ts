/** The Redis servers that a lock asks: its own one, or the masters; and its key there. */
import type { Redis } from 'ioredis';
import type { Connections } from '../../service/connections/connections.ts';
import { resourceOf } from '../../service/domain.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { defaultKeyPrefix } from '../../service/locks/lock.ts';

/** By their names; none for a lock in a process or in ZooKeeper. */
export function lockClients(connections: Connections, { lockService }: Rung): [string, Redis][] {
  const { servers = [] } = lockService ?? {};
  if (servers.includes('redis-main')) return [['redis-main', connections.redis('admin')]];
  if (!servers.includes('redis-1')) return [];
  return connections.redlockMasters('admin').map((redis, index) => [servers[index] ?? '', redis]);
}

export const lockKey = ({ scope }: Rung, of: Parameters<typeof resourceOf>[1]): string =>
  defaultKeyPrefix + resourceOf(scope, of);
