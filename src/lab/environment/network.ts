/**
 * How the service reaches its stores: directly, through proxies that can spoil connections, or
 * through Sentinels that promote a replica of redis-main.
 */
import { proxiedEnvironment, proxiesServer, proxyPort } from './servers/proxies.ts';
import { orderRedisSettings, redisServer } from './servers/redis.ts';
import { sentinelServer } from './servers/sentinel.ts';
import type { Server } from './servers/server.ts';
import { networkOf, replicasOf, type ServiceShape } from './servers/service.ts';
import type { Ports } from './state.ts';

/** The servers that it needs beside the stores, in the order in which they start. */
export function networkServers(folder: string, ports: Ports, shape: ServiceShape): Server[] {
  const replica = (name: string, port: number, master: number, priority = '100') =>
    redisServer(name, folder, port, 'always', {
      replicaof: `127.0.0.1 ${master}`,
      'replica-priority': priority,
      ...orderRedisSettings(shape),
    });
  const sentinels = ports.sentinels.map((port, index) =>
    sentinelServer(`sentinel-${index + 1}`, folder, port, ports.redisMain),
  );
  return {
    direct: [],
    proxied: [
      proxiesServer(folder, ports),
      replica('redis-replica', ports.replica, proxyPort(ports, 'replication')),
    ],
    sentinel: [
      replica('redis-replica', ports.replica, ports.redisMain),
      replica('redis-replica-2', ports.secondReplica, ports.redisMain, '200'), // The last choice.
      ...sentinels,
    ],
  }[networkOf(shape)];
}

/** What the service's configuration has instead of the stores' own addresses. */
export function networkEnvironment(ports: Ports, shape: ServiceShape): Record<string, string> {
  const sentinels = ports.sentinels.map((port) => `127.0.0.1:${port}`).join(',');
  const ORDER_REPLICAS = String(replicasOf(shape));
  return {
    direct: {},
    proxied: proxiedEnvironment(ports),
    sentinel: { REDIS_SENTINELS: sentinels, ORDER_REPLICAS },
  }[networkOf(shape)];
}
