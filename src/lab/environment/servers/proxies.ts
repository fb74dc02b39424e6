/** The proxies between the service and its stores, all in one process. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { labError } from '../../errors.ts';
import type { Server } from '../processes.ts';
import type { ProxyPlan } from '../proxy/toxic.ts';
import type { Ports } from '../state.ts';
import { databaseUrl } from './database.ts';

const entry = fileURLToPath(
  new URL('../../../../dist/lab/environment/proxy/main.js', import.meta.url),
);

/** The proxied servers, in the order of their ports. */
export const proxied = [
  'redis-main',
  'redis-1',
  'redis-2',
  'redis-3',
  'zookeeper',
  'database',
  'replication',
] as const;
export type ProxyName = (typeof proxied)[number];

export const proxyPort = ({ proxies }: Pick<Ports, 'proxies'>, name: ProxyName): number =>
  proxies + 1 + proxied.indexOf(name);

/** Of the server itself. */
export function upstreamPort(
  { redisMain, redlock, zookeeper, mysql }: Ports,
  name: ProxyName,
): number {
  const [first = 0, second = 0, third = 0] = redlock;
  return {
    'redis-main': redisMain,
    'redis-1': first,
    'redis-2': second,
    'redis-3': third,
    zookeeper,
    database: mysql,
    replication: redisMain,
  }[name];
}

export function proxiesServer(folder: string, ports: Ports): Server {
  const plan: ProxyPlan = {
    controlPort: ports.proxies,
    proxies: proxied.map((name) => ({
      name,
      port: proxyPort(ports, name),
      upstreamPort: upstreamPort(ports, name),
    })),
  };
  return {
    name: 'proxies',
    port: ports.proxies,
    program: () => ({
      command: process.execPath,
      args: [entry, JSON.stringify(plan)],
      logFile: join(folder, 'proxies.log'),
    }),
    answers: async () => (await fetch(`http://127.0.0.1:${ports.proxies}/proxies`)).ok,
  };
}

/** The stores as the service reaches them through the proxies. */
export function proxiedEnvironment(ports: Ports): Record<string, string> {
  const redis = (name: ProxyName) => `redis://127.0.0.1:${proxyPort(ports, name)}`;
  return {
    MYSQL_URL: databaseUrl(proxyPort(ports, 'database')),
    REDIS_URL: redis('redis-main'),
    REDLOCK_URLS: [redis('redis-1'), redis('redis-2'), redis('redis-3')].join(','),
    ZOOKEEPER_URL: `127.0.0.1:${proxyPort(ports, 'zookeeper')}`,
  };
}

export const isProxied = (name: string): name is ProxyName => proxied.some((each) => each === name);

/** The proxy in front of a server. @throws NOT_PROXIED */
export function proxyNamed(server: string): ProxyName {
  const known = server === 'mariadb' || server === 'mysql' ? 'database' : server;
  if (!isProxied(known)) throw labError('NOT_PROXIED', server, proxied);
  return known;
}
