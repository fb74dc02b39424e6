/**
 * The earlier connections of a client. A connection that was closed while Redis hung, or while its
 * packets were lost, may have sent commands that Redis has not read yet: a request for a lock that
 * nobody waits for any more. CLIENT KILL on the next connection ends it, so that what it sent takes
 * no effect after that.
 */
import { Cluster, type Redis } from 'ioredis';

interface Connection {
  readonly id: number;
  /** Ids begin again with each process of Redis, and another server has its own. */
  readonly server: string;
}

const known = new WeakMap<Redis, EarlierConnections>();

/** Call it before anything is sent: it learns the id of each connection when it is ready. */
export function earlierConnections(redis: Redis): EarlierConnections {
  const present = known.get(redis) ?? new EarlierConnections(redis);
  known.set(redis, present);
  return present;
}

class EarlierConnections {
  readonly #redis: Redis;
  #earlier: Connection[] = [];
  #current: Promise<Connection | null> = Promise.resolve(null);

  constructor(redis: Redis) {
    this.#redis = redis;
    const client: object = redis;
    if (client instanceof Cluster) return; // Its commands go to several nodes.
    redis.on('ready', () => this.#begin());
    if (redis.status === 'ready') this.#begin();
  }

  #begin(): void {
    const before = this.#current;
    this.#current = this.#ask().then(async (connection) => {
      const last = await before;
      if (last) this.#earlier.push(last);
      return connection;
    });
  }

  /** @returns null when Redis does not say. */
  async #ask(): Promise<Connection | null> {
    const asking = [this.#redis.client('ID'), this.#redis.info('server')] as const;
    const [id, info] = await Promise.all(asking).catch(() => []);
    const server = /^run_id:(\w+)/m.exec(String(info))?.[1];
    return id === undefined || server === undefined ? null : { id, server };
  }

  /** Where CLIENT KILL is not allowed, they end by themselves once Redis reads their end. */
  async end(): Promise<void> {
    const current = await this.#current;
    if (!current) return;
    const earlier = this.#earlier.splice(0).filter(({ server }) => server === current.server);
    const kills = earlier.map(({ id }) => this.#redis.client('KILL', 'ID', id));
    await Promise.all(kills).catch(() => {
      if (this.#redis.status !== 'ready') this.#earlier.push(...earlier);
    });
  }
}
