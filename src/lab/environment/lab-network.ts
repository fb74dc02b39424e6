/** The network between the service and its stores, as a fault sees it. */
import { ProxyClient } from './proxy/proxy-client.ts';
import type { Toxic } from './proxy/toxic.ts';
import { follow, isCopyOf, promote, restoreMaster, roleOf, withRedis } from './replication.ts';
import { level, restoreMain } from './sentinels.ts';
import { type ProxyName, proxied, proxyPort, upstreamPort } from './servers/proxies.ts';
import type { Network } from './servers/service.ts';
import type { Ports } from './state.ts';

/** The two that Sentinels choose the master from first; redis-replica-2 is their last choice. */
export type SentinelMaster = 'redis-main' | 'redis-replica';

export class LabNetwork {
  readonly #ports: Ports;
  readonly #network: Network;
  readonly #proxies: ProxyClient;

  constructor(ports: Ports, network: Network) {
    this.#ports = ports;
    this.#network = network;
    this.#proxies = new ProxyClient(ports.proxies);
  }

  /** Spoils the connections to this server; without toxics, mends them. */
  async spoil(name: ProxyName, ...toxics: readonly Partial<Toxic>[]): Promise<void> {
    await this.#proxies.change(name, { toxics });
  }

  /** How many connections to this server its toxics have hit. */
  async spoiled(name: ProxyName): Promise<number> {
    return (await this.#proxies.state())[name].spoiled;
  }

  /** The replica copies this server, and gets each later write: until a toxic stops them. */
  async replicate(name: ProxyName): Promise<void> {
    const source = upstreamPort(this.#ports, name);
    await this.#proxies.change('replication', { toxics: [], upstreamPort: source });
    await follow(this.#ports.replica, proxyPort(this.#ports, 'replication'));
  }

  /** The replica is the master now, and clients of this server reach it. */
  async promoteReplica(name: ProxyName): Promise<void> {
    await promote(this.#ports.replica);
    await this.#proxies.change(name, { toxics: [], upstreamPort: this.#ports.replica });
  }

  /** Whether clients of this server reach the replica. */
  async isReplaced(name: ProxyName): Promise<boolean> {
    return (await this.#proxies.state())[name].upstreamPort === this.#ports.replica;
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
    const states = await this.#proxies.state();
    const replaced = proxied.filter(
      (name) => name !== 'replication' && states[name].upstreamPort === this.#ports.replica,
    );
    for (const name of replaced)
      await restoreMaster(upstreamPort(this.#ports, name), this.#ports.replica);
    for (const name of proxied)
      await this.#proxies.change(name, {
        toxics: [],
        upstreamPort: upstreamPort(this.#ports, name),
      });
    await follow(this.#ports.replica, proxyPort(this.#ports, 'replication'));
  }

  #portOf(name: SentinelMaster): number {
    return name === 'redis-main' ? this.#ports.redisMain : this.#ports.replica;
  }
}

const otherOf = (name: SentinelMaster): SentinelMaster =>
  name === 'redis-main' ? 'redis-replica' : 'redis-main';
