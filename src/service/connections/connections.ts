/**
 * The connections of a process: each is opened at its first use, all are closed in reverse order.
 */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { serviceError } from '../errors.ts';
import { KnownEpoch } from './known-epoch.ts';
import { type Pool, select } from './mysql.ts';
import { openPool } from './mysql-pool.ts';
import { Rabbitmq } from './rabbitmq.ts';
import { openRedis, type RedisRole, whenReady } from './redis.ts';
import { messageOf } from './redis-cluster.ts';
import { MasterWatch } from './redis-sentinel.ts';
import { type SaleKeys, saleKeys } from './sale-keys.ts';
import { Zookeeper } from './zookeeper.ts';

/** The rows of `store_epoch`. */
const epochRows = { current: 1, replaced: 2 } as const;

/** Of MySQL; or the one that the last rebuild replaced. Empty before the first of each. */
export async function readEpoch(
  pool: Pool,
  which: keyof typeof epochRows = 'current',
): Promise<string> {
  const query = 'SELECT value FROM store_epoch WHERE id = ?';
  const [row] = await select<{ value: string }>(pool, query, [epochRows[which]]);
  return row?.value ?? '';
}

export class Connections {
  readonly config: Config;
  /** The keys of the final rung, for the configured numbers of shards and buckets. */
  readonly saleKeys: SaleKeys;
  readonly epoch = new KnownEpoch(() => readEpoch(this.mysql()));
  readonly #log: Logger;
  readonly #clients = new Map<string, Redis>();
  readonly #closers: (() => Promise<unknown>)[] = [];
  /** Of REDIS_URL, when it has Sentinels. */
  #masterWatch: MasterWatch | undefined;
  #pool: Pool | undefined;
  #zookeeper: Zookeeper | undefined;
  #rabbitmq: Rabbitmq | undefined;

  constructor(config: Config, log: Logger) {
    this.config = config;
    this.saleKeys = saleKeys(config.SALE_SHARDS, config.VOUCHER_BUCKETS);
    this.#log = log;
  }

  mysql(): Pool {
    if (this.#pool) return this.#pool;
    const { MYSQL_URL, MYSQL_POOL_SIZE, MYSQL_QUEUE_LIMIT, MYSQL_ANSWER_MS } = this.config;
    const pool = openPool(MYSQL_URL, {
      connectionLimit: MYSQL_POOL_SIZE,
      queueLimit: MYSQL_QUEUE_LIMIT,
      answerMs: MYSQL_ANSWER_MS,
    });
    this.#pool = pool;
    this.#closers.push(() => pool.end());
    return pool;
  }

  redis(role: RedisRole): Redis {
    return this.#shared(this.config.REDIS_URL, role);
  }

  /** A new client with this role, for a caller that blocks it. The caller disconnects it. */
  newRedis(role: RedisRole): Redis {
    return this.#open(this.config.REDIS_URL, role);
  }

  /** In the lab: for its messages to paused requests. */
  labRedis(): Redis {
    return this.#shared(this.#labRedisUrl, 'admin');
  }

  /** The caller disconnects it. */
  newLabRedis(): Redis {
    return this.#open(this.#labRedisUrl, 'pause');
  }

  get #labRedisUrl(): string {
    return this.config.LAB_REDIS_URL || this.config.REDIS_URL;
  }

  /**
   * The independent masters; a client whose server is down reconnects by itself.
   * @throws CONFIGURATION_INVALID when REDLOCK_URLS is empty.
   */
  redlockMasters(role: RedisRole = 'lock'): Redis[] {
    const { REDLOCK_URLS: urls } = this.config;
    if (urls.length === 0)
      throw serviceError('CONFIGURATION_INVALID', ['REDLOCK_URLS: this rung needs it']);
    return urls.map((url) => this.#shared(url, role));
  }

  /** @throws CONFIGURATION_INVALID when ZOOKEEPER_URL is not set. */
  zookeeper(): Zookeeper {
    if (this.#zookeeper) return this.#zookeeper;
    const {
      ZOOKEEPER_URL: servers,
      LOCK_ANSWER_MS: answerMs,
      ZOOKEEPER_SESSION_MS: sessionMs,
    } = this.config;
    if (!servers)
      throw serviceError('CONFIGURATION_INVALID', ['ZOOKEEPER_URL: the ZooKeeper rung needs it']);
    const zookeeper = new Zookeeper(servers, { answerMs, sessionMs }, () =>
      this.#log.warn({ event: 'zookeeper-session-over', servers }),
    );
    this.#zookeeper = zookeeper;
    this.#closers.push(() => zookeeper.close());
    return zookeeper;
  }

  /** Connects at its first use. @throws CONFIGURATION_INVALID when RABBITMQ_URL is not set. */
  rabbitmq(): Rabbitmq {
    if (this.#rabbitmq) return this.#rabbitmq;
    const { RABBITMQ_URL: url } = this.config;
    if (!url)
      throw serviceError('CONFIGURATION_INVALID', ['RABBITMQ_URL: the RabbitMQ rung needs it']);
    const rabbitmq = new Rabbitmq(url, (error) =>
      this.#log.warn({ event: 'rabbitmq-error', server: new URL(url).host, error: error.message }),
    );
    this.#rabbitmq = rabbitmq;
    this.#closers.push(() => rabbitmq.close());
    return rabbitmq;
  }

  /** The replicas of REDIS_URL, as each of its Sentinels knows them. */
  async sentinelReplicas(): Promise<number[]> {
    return (await this.#masterWatch?.replicas()) ?? [];
  }

  /** Waits until every client that was opened can take commands, two seconds at most. */
  async ready(): Promise<void> {
    const clients = [...this.#clients.values()].map((redis) => whenReady(redis, 2_000));
    await Promise.all([...clients, this.#zookeeper?.ready(2_000)]);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }

  #shared(url: string, role: RedisRole): Redis {
    const known = this.#clients.get(`${role} ${url}`);
    if (known) return known;
    const redis = this.#open(url, role);
    this.#clients.set(`${role} ${url}`, redis);
    this.#closers.push(async () => redis.disconnect());
    return redis;
  }

  #open(url: string, role: RedisRole): Redis {
    const server = new URL(url).host;
    const redis = openRedis(url, role, this.config, (error) =>
      this.#log.warn({ event: 'redis-error', role, server, error: messageOf(error) }),
    );
    if (url === this.config.REDIS_URL) this.#follow(redis);
    return redis;
  }

  #follow(redis: Redis): void {
    if (this.config.REDIS_SENTINELS.length === 0) return;
    this.#masterWatch ??= this.#watchMaster();
    this.#masterWatch.add(redis);
  }

  #watchMaster(): MasterWatch {
    const watch = new MasterWatch(this.config, (master) =>
      this.#log.warn({ event: 'redis-master-moved', master }),
    );
    this.#closers.push(() => watch.close());
    return watch;
  }
}
