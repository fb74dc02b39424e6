/**
 * Redis Sentinel: it knows which server is the master, and promotes a replica when the master does
 * not answer. A client asks it at each connect. A connection to a frozen master stays open, so
 * `MasterWatch` asks too.
 *
 * ioredis has a `failoverDetector` for this. It is not used: when it hears of the new master while
 * a client asks for the master, that client ends and never connects again.
 */
import { isIP } from 'node:net';
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
 * Keeps clients at the master. It asks each Sentinel all the time: when the answer of one has
 * changed, the clients that are elsewhere connect again. The Sentinels may learn it at different
 * moments, and a client may have asked the last one.
 *
 * It also asks all of them when a client is ready. A connection that was begun to a frozen master
 * is ready when that server resumes. The old master then accepts orders until it is made a
 * replica, and loses all of them.
 */
export class MasterWatch {
  readonly #name: string;
  readonly #sentinels: readonly Redis[];
  readonly #asking: readonly NodeJS.Timeout[];
  readonly #clients = new Set<Redis>();

  /** @param onMoved is told `host:port` of the new master. */
  constructor(config: SentinelConfig, onMoved: (master: string) => void) {
    this.#name = config.REDIS_SENTINEL_NAME;
    this.#sentinels = config.REDIS_SENTINELS.map((sentinel) => openSentinel(sentinel, config));
    this.#asking = this.#sentinels.map((sentinel) => this.#askAllTheTime(sentinel, onMoved));
  }

  add(client: Redis): void {
    this.#clients.add(client);
    client.on('ready', () => void this.#check(client));
    client.once('end', () => this.#clients.delete(client));
  }

  /** As each Sentinel that answers knows them, also those that are cut off from the master. */
  async replicas(): Promise<number[]> {
    const asked = this.#sentinels.map((sentinel) => replicasOf(sentinel, this.#name));
    const answers = await Promise.allSettled(asked);
    return answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  }

  async close(): Promise<void> {
    for (const asking of this.#asking) clearInterval(asking);
    for (const sentinel of this.#sentinels) sentinel.disconnect();
  }

  #askAllTheTime(sentinel: Redis, onMoved: (master: string) => void): NodeJS.Timeout {
    let known: string | undefined;
    const ask = async () => {
      const master = await masterOf(sentinel, this.#name);
      if (known !== undefined && known !== master) {
        onMoved(master);
        for (const client of this.#clients) leaveOthers(client, master);
      }
      known = master;
    };
    return setInterval(() => void ask().catch(() => {}), askEveryMs).unref();
  }

  /** One Sentinel alone may be late, or may have lost what it knew. */
  async #check(client: Redis): Promise<void> {
    const asked = this.#sentinels.map((sentinel) => masterOf(sentinel, this.#name));
    const answers = await Promise.allSettled(asked);
    const masters = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const others = masters.filter((master) => isElsewhere(client, master));
    const [other] = others;
    if (other && others.length * 2 > masters.length) leaveOthers(client, other);
  }
}

function openSentinel(sentinel: SentinelConfig['REDIS_SENTINELS'][number], config: SentinelConfig) {
  const client = new Redis({
    ...sentinel,
    ...(isTls(config) && { tls: {} }),
    connectTimeout: answerMs,
    commandTimeout: answerMs,
    socketTimeout: answerMs,
    maxRetriesPerRequest: 0,
    disableClientInfo: true,
    enableReadyCheck: false,
    retryStrategy: () => askEveryMs,
  });
  client.on('error', () => {}); // The clients report a Sentinel that does not answer.
  return client;
}

/** @returns `host:port` */
async function masterOf(sentinel: Redis, name: string): Promise<string> {
  const address = await sentinel.call('SENTINEL', 'get-master-addr-by-name', name);
  if (!Array.isArray(address)) throw new Error(`Sentinel does not know the master ${name}`);
  return address.join(':');
}

/** Without those that do not answer the Sentinel: it promotes none of these. */
async function replicasOf(sentinel: Redis, name: string): Promise<number> {
  const replicas = (await sentinel.call('SENTINEL', 'REPLICAS', name)) as string[][];
  const flags = replicas.map((fields) => fields[fields.indexOf('flags') + 1] ?? '');
  return flags.filter((each) => !each.split(',').includes('s_down')).length;
}

/**
 * Ends the connection unless it is to this master; the client asks Sentinel and connects again. Its
 * commands without an answer fail, and are not sent again.
 */
function leaveOthers(client: Redis, master: string): void {
  const isConnected = client.status === 'ready' || client.status === 'connect';
  // A client that is still asking for the master would end for ever.
  if (isConnected && addressOf(client) !== master) client.disconnect(true);
}

/** A name of a host says nothing: a connection knows the other end by its IP address. */
const isElsewhere = (client: Redis, master: string): boolean =>
  isIP(master.slice(0, master.lastIndexOf(':'))) !== 0 && addressOf(client) !== master;

const addressOf = ({ stream }: Redis): string => `${stream?.remoteAddress}:${stream?.remotePort}`;
