/**
 * How the service reaches its stores: directly, through proxies that can spoil connections, or
 * through Sentinels that promote a replica of redis-main; and what a fault changes about it.
 */

import { answerOf } from './ask-instance.ts';
import type { Server } from './processes.ts';
import type { ProxyState, Toxic } from './proxy/toxic.ts';
import { follow, isCopyOf, promote, restoreMaster, roleOf, withRedis } from './replication.ts';
import { level, restoreMain, sentinelServer } from './sentinels.ts';
import {
  type ProxyName,
  proxied,
  proxiedEnvironment,
  proxiesServer,
  proxyPort,
  upstreamPort,
} from './servers/proxies.ts';
import { orderRedisSettings, redisServer } from './servers/redis.ts';
import { type Network, networkOf, replicasOf, type ServiceShape } from './servers/service.ts';
import type { Ports } from './state.ts';

/** The two that Sentinels choose the master from first; redis-replica-2 is their last choice. */
export type SentinelMaster = 'redis-main' | 'redis-replica';

interface ProxyChange {
  /** All toxics of this proxy: those that it had are gone. */
  readonly toxics: readonly Partial<Toxic>[];
  /** The server that clients reach from now on; the same as before without it. */
  readonly upstreamPort?: number;
}

export class LabNetwork {
  readonly #ports: Ports;
  readonly #network: Network;

  constructor(ports: Ports, network: Network) {
    this.#ports = ports;
    this.#network = network;
  }

  /** Spoils the connections to this server; without toxics, mends them. */
  async spoil(name: ProxyName, ...toxics: readonly Partial<Toxic>[]): Promise<void> {
    await this.#change(name, { toxics });
  }

  /** How many connections to this server its toxics have hit. */
  async spoiled(name: ProxyName): Promise<number> {
    return (await this.#states())[name].spoiled;
  }

  /** The replica copies this server, and gets each later write: until a toxic stops them. */
  async replicate(name: ProxyName): Promise<void> {
    const source = upstreamPort(this.#ports, name);
    await this.#change('replication', { toxics: [], upstreamPort: source });
    await follow(this.#ports.replica, proxyPort(this.#ports, 'replication'));
  }

  /** The replica is the master now, and clients of this server reach it. */
  async promoteReplica(name: ProxyName): Promise<void> {
    await promote(this.#ports.replica);
    await this.#change(name, { toxics: [], upstreamPort: this.#ports.replica });
  }

  /** Whether clients of this server reach the replica. */
  async isReplaced(name: ProxyName): Promise<boolean> {
    return (await this.#states())[name].upstreamPort === this.#ports.replica;
  }

  /** The other Redis has every write that this master answered; it answers none for a while. */
  async level(master: SentinelMaster): Promise<void> {
    await level(this.#portOf(master), this.#portOf(otherOf(master)));
  }

  async isMaster(name: SentinelMaster): Promise<boolean> {
    return (await roleOf(this.#portOf(name))) === 'master';
  }

  /** It copies the other Redis, and has all of it. */
  async follows(name: SentinelMaster): Promise<boolean> {
    return isCopyOf(this.#portOf(name), this.#portOf(otherOf(name)));
  }

  /** Asks the replica itself. */
  async replicaHas(key: string): Promise<boolean> {
    return withRedis(this.#ports.replica, async (redis) => (await redis.exists(key)) === 1);
  }

  /** Every master has its place, every connection is as it was. The servers must run. */
  async heal(): Promise<void> {
    if (this.#network === 'proxied') await this.#healProxies();
    if (this.#network === 'sentinel') await restoreMain(this.#ports);
  }

  async #healProxies(): Promise<void> {
    const states = await this.#states();
    const replaced = proxied.filter(
      (name) => name !== 'replication' && states[name].upstreamPort === this.#ports.replica,
    );
    for (const name of replaced)
      await restoreMaster(upstreamPort(this.#ports, name), this.#ports.replica);
    for (const name of proxied)
      await this.#change(name, {
        toxics: [],
        upstreamPort: upstreamPort(this.#ports, name),
      });
    await follow(this.#ports.replica, proxyPort(this.#ports, 'replication'));
  }

  /** @throws PROXY_REFUSED */
  async #states(): Promise<Record<ProxyName, ProxyState>> {
    const answer = await answerOf('PROXY_REFUSED', 'any server', this.#proxies);
    return (await answer.json()) as Record<ProxyName, ProxyState>;
  }

  /** @throws PROXY_REFUSED */
  async #change(name: ProxyName, change: ProxyChange): Promise<void> {
    await answerOf('PROXY_REFUSED', name, `${this.#proxies}/${name}`, {
      method: 'PUT',
      body: JSON.stringify(change),
      headers: { 'content-type': 'application/json' },
    });
  }

  get #proxies(): string {
    return `http://127.0.0.1:${this.#ports.proxies}/proxies`;
  }

  #portOf(name: SentinelMaster): number {
    return name === 'redis-main' ? this.#ports.redisMain : this.#ports.replica;
  }
}

const otherOf = (name: SentinelMaster): SentinelMaster =>
  name === 'redis-main' ? 'redis-replica' : 'redis-main';

/** The servers that the network needs beside the stores, in the order in which they start. */
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
