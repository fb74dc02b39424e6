/**
 * A Redis Cluster of three masters on loopback, or of three masters with a replica each, apart from
 * the lab's servers: started for a test and ended after it.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { freeClusterPorts } from '../../src/lab/environment/ports.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder } from './basics.ts';
import { newDataFolder } from './data-home.ts';
import { worker } from './servers.ts';

const password = 'one@password:for/all%20nodes'; // Of letters that a URL spells otherwise.
/** A master that is silent for this time is down for the others. */
const nodeTimeoutMs = 2_000;
/** The ports of the bus, 10,000 higher, are then between those of the labs and `ownPorts`. */
const firstPort = 9_600;
const portsOfWorker = 100;
const masterCount = 3;

export interface RedisCluster {
  /** With the password, as REDIS_URL. */
  readonly url: string;
  /** Those that were masters at first. */
  readonly nodes: readonly OwnRedis[];
  /** The replica of this master, once it has every write. */
  replicaOf(master: OwnRedis): Promise<OwnRedis>;
  /** The master that has the slot of this key. */
  ownerOf(key: string): Promise<OwnRedis>;
  /** Moves the slot of this key to another master, key by key, with a pause after each. */
  moveSlot(key: string, to: OwnRedis, pauseMs: number): Promise<void>;
  /**
   * From now on clients are sent to this port instead of the node's own: a proxy can stand between.
   */
  announce(node: OwnRedis, port: number): Promise<void>;
  stop(): Promise<void>;
}

interface ClusterOptions {
  /** One for each master. */
  readonly replicas?: boolean;
  readonly tls?: Certificates;
  /** More of each node. */
  readonly settings?: Readonly<Record<string, string>>;
}

export async function startRedisCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { replicas = false } = options;
  const folder = newDataFolder();
  const count = replicas ? 2 * masterCount : masterCount;
  const first = await freeClusterPorts(firstPort + worker * portsOfWorker, count);
  const all = Array.from({ length: count }, (_, index) =>
    clusterNode(folder, first + index, options),
  );
  const [nodes, others] = [all.slice(0, masterCount), all.slice(masterCount)];
  const stop = async () => {
    await Promise.all(all.map((node) => node.end()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(all.map((node) => node.start()));
    await create(all, options);
    await untilComplete(all);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `redis://:${encodeURIComponent(password)}@127.0.0.1:${first}`,
    nodes,
    replicaOf: (master) => replicaOf(others, master),
    ownerOf: (key) => ownerOf(nodes, key),
    moveSlot: (key, to, pauseMs) => moveSlot(nodes, key, to, pauseMs),
    announce: (node, port) => announce(nodes, node, port),
    stop,
  };
}

function clusterNode(folder: string, port: number, options: ClusterOptions): OwnRedis {
  const { tls, settings = {} } = options;
  return new OwnRedis({
    folder,
    port,
    name: String(port),
    settings: { ...nodeSettings, ...settings, ...(tls && tlsOnly(tls, port)) },
    // Certificates may be of names only.
    access: { password, ...(tls && { host: 'localhost', tls: { ca: readFileSync(tls.ca) } }) },
  });
}

/** Without full coverage, the slots of the other masters are served while one master is down. */
const nodeSettings = {
  ...{ requirepass: password, masterauth: password },
  ...{ 'cluster-enabled': 'yes', 'cluster-require-full-coverage': 'no' },
  'cluster-node-timeout': String(nodeTimeoutMs),
};

const tlsOnly = (tls: Certificates, port: number) => ({
  ...redisTls(tls, port),
  ...{ 'tls-cluster': 'yes', 'tls-replication': 'yes' },
});

async function create(
  nodes: readonly OwnRedis[],
  { replicas, tls }: ClusterOptions,
): Promise<void> {
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const options = ['--cluster-replicas', replicas ? '1' : '0', '--cluster-yes'];
  const trust = tls ? ['--tls', '--cacert', tls.ca] : [];
  await execa('redis-cli', [...trust, '--cluster', 'create', ...addresses, ...options], {
    env: { REDISCLI_AUTH: password },
  });
}

async function replicaOf(nodes: readonly OwnRedis[], master: OwnRedis): Promise<OwnRedis> {
  const [, written = 0] = await master.admin.role();
  const hasAll = async ({ admin }: OwnRedis) => {
    const [, , port, state, offset] = await admin.role();
    return port === master.port && state === 'connected' && Number(offset) >= Number(written);
  };
  let found: OwnRedis | undefined;
  await waitUntil('the replica to have every write', 20_000, async () => {
    for (const node of nodes) if (await hasAll(node)) found = node;
    return found !== undefined;
  });
  return found as OwnRedis;
}

/** Every node finds all slots served. */
const untilComplete = (nodes: readonly OwnRedis[]): Promise<void> =>
  waitUntil('the cluster to be complete', 20_000, async () => {
    const states = await Promise.all(nodes.map(({ admin }) => admin.cluster('INFO')));
    return states.every((state) => /cluster_state:ok/.test(state));
  });

/** By the nodes' own answers: the address of a master may be that of a proxy. */
async function ownerOf(nodes: readonly OwnRedis[], key: string): Promise<OwnRedis> {
  for (const node of nodes) {
    const slot = await node.admin.cluster('KEYSLOT', key);
    const own = await node.admin.cluster('MYID');
    const ranges = await node.admin.cluster('SLOTS');
    if (ranges.some(([from, to, master]) => from <= slot && slot <= to && master?.[2] === own))
      return node;
  }
  throw new Error(`no master has the slot of ${key}`);
}

/** The steps of `redis-cli --cluster reshard`, slowly. */
async function moveSlot(
  nodes: readonly OwnRedis[],
  key: string,
  to: OwnRedis,
  pauseMs: number,
): Promise<void> {
  const from = await ownerOf(nodes, key);
  const slot = await from.admin.cluster('KEYSLOT', key);
  const [fromId, toId] = await Promise.all([from, to].map((node) => node.admin.cluster('MYID')));
  await to.admin.cluster('SETSLOT', slot, 'IMPORTING', String(fromId));
  await from.admin.cluster('SETSLOT', slot, 'MIGRATING', String(toId));
  for (const moved of await from.admin.cluster('GETKEYSINSLOT', slot, 1_000)) {
    const target = ['127.0.0.1', to.port, '', 0, 5_000, 'AUTH', password, 'KEYS', moved] as const;
    await from.admin.call('MIGRATE', ...target);
    await sleep(pauseMs);
  }
  for (const { admin } of [to, from, ...nodes])
    await admin.cluster('SETSLOT', slot, 'NODE', String(toId));
}

async function announce(
  nodes: readonly OwnRedis[],
  { admin }: OwnRedis,
  port: number,
): Promise<void> {
  const id = await admin.cluster('MYID');
  await admin.config('SET', 'cluster-announce-port', port);
  const knows = async (node: OwnRedis) => {
    const ranges = await node.admin.cluster('SLOTS');
    return ranges.some(([, , master]) => master?.[2] === id && master[1] === port);
  };
  await waitUntil('every node to know the new port', 20_000, async () =>
    (await Promise.all(nodes.map(knows))).every(Boolean),
  );
}

export interface Certificates {
  readonly ca: string;
  readonly key: string;
  readonly certificate: string;
}

const days = ['-days', '1'];

/**
 * A CA of a test's own, and a certificate that it has signed, until the test is over.
 * @param names of the server, as openssl writes them. @returns paths of files.
 */
export async function certificates(names: string): Promise<Certificates> {
  const folder = someFolder();
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execa('openssl', args, { cwd: folder });
  const newKey = ['-newkey', 'rsa:2048', '-nodes'];
  await openssl(
    ...['req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', ...days],
    ...['-subj', '/CN=the CA of this test'],
  );
  const extensions = [`subjectAltName=${names}`, 'basicConstraints=CA:FALSE'];
  await openssl(
    ...['req', '-x509', ...newKey, '-keyout', 'server.key', '-out', 'server.pem', ...days],
    ...['-CA', 'ca.pem', '-CAkey', 'ca.key', '-subj', '/CN=a store'],
    ...extensions.flatMap((extension) => ['-addext', extension]),
  );
  return { ca: at('ca.pem'), key: at('server.key'), certificate: at('server.pem') };
}

/** Settings of a Redis that takes TLS only. */
export const redisTls = ({ ca, key, certificate }: Certificates, port: number) => ({
  ...{ port: '0', 'tls-port': String(port), 'tls-auth-clients': 'no' },
  ...{ 'tls-cert-file': certificate, 'tls-key-file': key, 'tls-ca-cert-file': ca },
});
