/** A client of a Redis Cluster, and which of its masters has a key. */
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { Cluster, Command, type Redis, type RedisOptions } from 'ioredis';
import type { Config } from '../config.ts';

type ClusterConfig = Pick<Config, 'REDIS_URL' | 'REDIS_CLUSTER_NODES'>;
type NodeOptions = Omit<RedisOptions, 'replyMapping'>;

interface ClusterClientOptions {
  readonly nodeOptions: NodeOptions;
  readonly reconnectMs: (tries: number) => number;
  /** Whether a command whose connection was lost is sent again: it may have run. */
  readonly mayRepeat: boolean;
}

/**
 * It follows MOVED, ASK and TRYAGAIN: with these a node says that it did not run the command. By
 * default ioredis also sends a command again when its connection was lost: only a subscriber, which
 * may subscribe twice, keeps that.
 */
export function openCluster(
  config: ClusterConfig,
  { nodeOptions, reconnectMs, mayRepeat }: ClusterClientOptions,
): Redis {
  const repeatMs = mayRepeat ? 100 : 0; // 0 is never.
  const cluster = new Cluster([config.REDIS_URL, ...config.REDIS_CLUSTER_NODES], {
    redisOptions: { ...nodeOptions, ...forEveryNode(config) },
    clusterRetryStrategy: reconnectMs,
    enableOfflineQueue: mayRepeat,
    retryDelayOnFailover: repeatMs,
    retryDelayOnClusterDown: repeatMs,
    // So that a new master is found although the connection to the old one stands.
    slotsRefreshInterval: 5_000,
    // A name stays one: its certificate is compared with it, and each of its addresses is tried.
    dnsLookup: (host, answer) => answer(null, host),
  });
  keepCauses(cluster);
  // The same commands, events and status; the types differ in a pipeline only.
  return cluster as unknown as Redis;
}

/** The part of the URL that is for all nodes: ioredis uses it for the first node only. */
function forEveryNode({ REDIS_URL, REDIS_CLUSTER_NODES }: ClusterConfig): NodeOptions {
  const { username, password, protocol, hostname } = new URL(REDIS_URL);
  const hosts = [hostname, ...REDIS_CLUSTER_NODES.map(({ host }) => host)];
  return {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: trusting(hosts) }),
  };
}

/**
 * A cluster names its nodes by their IP addresses, unless it is configured to name hosts. Such a
 * node may have the certificate of a name by which the cluster is reached.
 */
function trusting(hosts: readonly string[]): ConnectionOptions {
  const names = hosts.filter((host) => isIP(host) === 0);
  return {
    checkServerIdentity: (host, certificate) => {
      const problem = checkServerIdentity(host, certificate);
      const others = isIP(host) === 0 ? [] : names;
      const isNamed = others.some((name) => !checkServerIdentity(name, certificate));
      return isNamed ? undefined : problem;
    },
  };
}

/**
 * The connection of the master that has this key: in a cluster, to that node. What is sent on it is
 * sent nowhere else, so a node that has the key no more answers MOVED. Undefined while there is
 * none that takes commands; then the client looks for it.
 */
export function connectionOf(redis: Redis, key: string): Redis | undefined {
  const client: object = redis;
  if (!(client instanceof Cluster)) return redis.status === 'ready' ? redis : undefined;
  const [address] = client.slots[new Command('get', [key]).getSlot() ?? 0] ?? [];
  const isOwner = ({ options: { host, port } }: Redis) => `${host}:${port}` === address;
  const node = client.nodes('master').find(isOwner);
  if (node?.status === 'ready') return node;
  if (node?.status === 'wait') node.connect().catch(() => {});
  else findMasters(redis);
  return undefined;
}

/**
 * On a connection of its own ioredis asks a node for the slots, and drops its error: of a
 * certificate that was refused it only says that the connection is closed.
 */
function keepCauses(cluster: Cluster): void {
  let cause: Error | undefined;
  cluster.on('+node', (node: Redis) => {
    const duplicate = node.duplicate.bind(node);
    node.duplicate = (options) => {
      cause = undefined; // That of the node before.
      return duplicate(options).on('error', (error) => {
        cause = error;
      });
    };
  });
  cluster.on('error', (error: Error) => {
    error.cause ??= cause;
  });
}

/** Why no node of the cluster could be asked is in the error of the last one only. */
export function messageOf(error: Error & { readonly lastNodeError?: Error }): string {
  const { message, lastNodeError, cause = lastNodeError } = error;
  return cause instanceof Error ? `${message} ${cause.message}` : message;
}

/** In a cluster: asks the nodes which master has which keys. */
export function findMasters(redis: object): void {
  if (redis instanceof Cluster) redis.refreshSlotsCache();
}
