/** What a process is connected to: each opened on first use, all closed in reverse order. */
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { ConfigurationInvalid } from '../errors.ts';
import { openPool, type Pool } from './mysql.ts';
import { openRedis, type RedisRole, whenReady } from './redis.ts';
import { Zookeeper } from './zookeeper.ts';

export class Connections {
  readonly config: Config;
  readonly #log: Logger;
  readonly #clients = new Map<string, Redis>();
  readonly #closers: (() => Promise<unknown>)[] = [];
  #pool: Pool | undefined;
  #zookeeper: Zookeeper | undefined;

  constructor(config: Config, log: Logger) {
    this.config = config;
    this.#log = log;
  }

  mysql(): Pool {
    if (this.#pool) return this.#pool;
    const pool = openPool(this.config.MYSQL_URL, this.config.MYSQL_POOL_SIZE);
    this.#pool = pool;
    this.#closers.push(() => pool.end());
    return pool;
  }

  redis(role: RedisRole): Redis {
    return this.#open(this.config.REDIS_URL, role);
  }

  /** The independent masters; clients of servers that are down reconnect by themselves. */
  redlockMasters(): Redis[] {
    return this.config.REDLOCK_URLS.map((url) => this.#open(url, 'lock'));
  }

  /** @throws ConfigurationInvalid where the service was not told of a ZooKeeper. */
  zookeeper(): Zookeeper {
    if (this.#zookeeper) return this.#zookeeper;
    const servers = this.config.ZOOKEEPER_URL;
    if (!servers) throw new ConfigurationInvalid(['ZOOKEEPER_URL: the ZooKeeper rung needs it']);
    const zookeeper = new Zookeeper(servers, this.config, () =>
      this.#log.warn({ event: 'zookeeper-session-over', servers }),
    );
    this.#zookeeper = zookeeper;
    this.#closers.push(() => zookeeper.close());
    return zookeeper;
  }

  /** Waits until every client that was opened can take commands, two seconds at most. */
  async ready(): Promise<void> {
    const clients = [...this.#clients.values()].map((redis) => whenReady(redis, 2_000));
    await Promise.all([...clients, this.#zookeeper?.ready(2_000)]);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }

  #open(url: string, role: RedisRole): Redis {
    const known = this.#clients.get(`${role} ${url}`);
    if (known) return known;
    const server = new URL(url).host;
    const redis = openRedis(url, role, this.config, (error) =>
      this.#log.warn({ event: 'redis-error', role, server, error: error.message }),
    );
    this.#clients.set(`${role} ${url}`, redis);
    this.#closers.push(async () => redis.disconnect());
    return redis;
  }
}
