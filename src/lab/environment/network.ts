/**
 * How the service reaches its stores: directly, through proxies that can spoil connections, or
 * through Sentinels that promote the replica of redis-main.
 */
import { proxiedEnvironment, proxiesServer, proxyPort } from './servers/proxies.ts';
import { orderRedisSettings, redisServer } from './servers/redis.ts';
import { sentinelServer } from './servers/sentinel.ts';
import type { Server } from './servers/server.ts';
import { durabilityOf, type Network, networkOf, type ServiceShape } from './servers/service.ts';
import type { Ports } from './state.ts';

/** The servers that it needs beside the stores, in the order in which they start. */
export function networkServers(folder: string, ports: Ports, shape: ServiceShape): Server[] {
  const replica = (master: number) =>
    redisServer('redis-replica', folder, ports.replica, 'always', {
      replicaof: `127.0.0.1 ${master}`,
      ...orderRedisSettings(durabilityOf(shape)),
    });
  const sentinels = ports.sentinels.map((port, index) =>
    sentinelServer(`sentinel-${index + 1}`, folder, port, ports.redisMain),
  );
  return {
    direct: [],
    proxied: [proxiesServer(folder, ports), replica(proxyPort(ports, 'replication'))],
    sentinel: [replica(ports.redisMain), ...sentinels],
  }[networkOf(shape)];
}

/** What the service's configuration has instead of the stores' own addresses. */
export function networkEnvironment(ports: Ports, network: Network): Record<string, string> {
  const sentinels = ports.sentinels.map((port) => `127.0.0.1:${port}`).join(',');
  return {
    direct: {},
    proxied: proxiedEnvironment(ports),
    sentinel: { REDIS_SENTINELS: sentinels },
  }[network];
}
