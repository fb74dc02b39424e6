/**
 * Redis Sentinel: it knows which server is the master, and promotes a replica when the master does
 * not answer. A client asks it at each connect. A connection to a frozen master stays open, so
 * `watchMaster` asks too, and says when the master has moved.
 *
 * ioredis has a `failoverDetector` for this. It is not used: when it hears of the new master while
 * a client asks for the master, that client ends and never connects again.
 */
import { Redis } from 'ioredis';
import type { Config } from '../config.ts';

/** How long one answer of a Sentinel may take: a frozen one must not hide the others. */
const answerMs = 500;
const askEveryMs = 500;
/** How long a connection may take to close: a frozen server never does. */
const closeMs = 100;

type SentinelConfig = Pick<Config, 'REDIS_URL' | 'REDIS_SENTINELS' | 'REDIS_SENTINEL_NAME'>;

/** User, password, database and TLS are those of the URL; its host is not used. */
export function sentinelOptions(config: SentinelConfig) {
  return {
    sentinels: [...config.REDIS_SENTINELS],
    name: config.REDIS_SENTINEL_NAME,
    sentinelCommandTimeout: answerMs,
    disconnectTimeout: closeMs,
    ...(isTls(config) && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  };
}

const isTls = ({ REDIS_URL }: SentinelConfig): boolean => REDIS_URL.startsWith('rediss:');

/**
 * Asks each Sentinel all the time. `onMoved` is called when the answer of one has changed: they may
 * learn it at different moments, and a client may have asked the last one.
 * @param onMoved `host:port` of the master, and of the old one.
 * @returns a function that ends it.
 */
export function watchMaster(
  config: SentinelConfig,
  onMoved: (master: string, old: string) => void,
): () => Promise<void> {
  const watches = config.REDIS_SENTINELS.map((sentinel) => {
    const client = new Redis({
      ...sentinel,
      ...(isTls(config) && { tls: {} }),
      ...{ connectTimeout: answerMs, commandTimeout: answerMs, socketTimeout: answerMs },
      ...{ maxRetriesPerRequest: 0, enableOfflineQueue: false, disableClientInfo: true },
      enableReadyCheck: false,
      retryStrategy: () => askEveryMs,
    });
    client.on('error', () => {}); // The clients report a Sentinel that does not answer.
    let known: string | undefined;
    const ask = async () => {
      const master = await masterOf(client, config.REDIS_SENTINEL_NAME);
      if (known !== undefined && known !== master) onMoved(master, known);
      known = master;
    };
    const asking = setInterval(() => void ask().catch(() => {}), askEveryMs).unref();
    return { client, asking };
  });
  return async () => {
    for (const { client, asking } of watches) {
      clearInterval(asking);
      client.disconnect();
    }
  };
}

/** @returns `host:port` */
async function masterOf(sentinel: Redis, name: string): Promise<string> {
  const address = await sentinel.call('SENTINEL', 'get-master-addr-by-name', name);
  if (!Array.isArray(address)) throw new Error(`Sentinel does not know the master ${name}`);
  return address.join(':');
}

/**
 * Clients that are connected to the master, and to no old one. A Sentinel that has not heard of the
 * new master sends them to the old one. It may run again, and sell until it is made a replica: all
 * that it sells is lost.
 */
export class MasterFollowers {
  readonly #clients = new Set<Redis>();
  readonly #old = new Set<string>();

  add(client: Redis): void {
    this.#clients.add(client);
    client.on('connect', () => {
      if (this.#old.has(addressOf(client))) client.disconnect(true);
    });
    client.once('end', () => this.#clients.delete(client));
  }

  /** The clients ask Sentinel, and connect again. */
  move(master: string, old: string): void {
    this.#old.delete(master);
    this.#old.add(old);
    for (const client of this.#clients) leaveOldMaster(client, master);
  }
}

/** Its commands without an answer fail, and are not sent again. */
function leaveOldMaster(client: Redis, master: string): void {
  const isConnected = client.status === 'ready' || client.status === 'connect';
  // A client that is still asking for the master would end for ever.
  if (isConnected && addressOf(client) !== master) client.disconnect(true);
}

const addressOf = ({ stream }: Redis): string => `${stream?.remoteAddress}:${stream?.remotePort}`;
