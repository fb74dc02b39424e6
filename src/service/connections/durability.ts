/**
 * Whether Redis is configured for the ORDER_DURABILITY that the service promises, and whether MySQL
 * keeps what it commits. A service that promised more than they do would lose accepted orders, and
 * nobody would know before.
 */
import { Cluster, type Redis, ReplyError } from 'ioredis';
import type { Logger } from 'pino';
import { type Config, waitsForReplicas } from '../config.ts';
import { serviceError } from '../errors.ts';
import type { Connections } from './connections.ts';
import { select } from './mysql.ts';
import { pairsOf } from './pairs.ts';

/** Of a Redis, by name, as CONFIG GET answers. */
export type RedisSettings = Readonly<Record<string, string>>;

const syncs = 'appendfsync';
const syncsNotInRewrite = 'no-appendfsync-on-rewrite';
const replicasMin = 'min-replicas-to-write';
const evicts = 'maxmemory-policy';

type PromisedDurability = Pick<Config, 'ORDER_DURABILITY' | 'ORDER_REPLICAS'>;

/** @returns one sentence for each setting that is too weak. Pure. */
export function weakSettings(promised: PromisedDurability, settings: RedisSettings): string[] {
  const weak: string[] = [];
  const must = (name: string, allowed: readonly string[]) => {
    const value = settings[name] ?? 'missing';
    if (!allowed.includes(value)) weak.push(`${name} is ${value}, and must be ${allowed[0]}`);
  };
  const isEverySecond = promised.ORDER_DURABILITY === 'everysec';
  const replicas = waitsForReplicas(promised);
  must('appendonly', ['yes']);
  must(evicts, ['noeviction']); // A key that is evicted is a sale, a queue or a lock that is lost.
  must(syncs, isEverySecond ? ['everysec', 'always'] : ['always']);
  if (!isEverySecond) must(syncsNotInRewrite, ['no']);
  if (!(Number(settings[replicasMin] ?? 0) >= replicas))
    weak.push(`${replicasMin} is ${settings[replicasMin]}, and must be ${replicas} or more`);
  return weak;
}

/**
 * @returns what is too weak, on each master; null when Redis does not allow these questions.
 * @throws the error of a Redis that does not answer.
 */
export async function weakDurability(connections: Connections): Promise<string[] | null> {
  const redis = connections.redis('admin');
  const masters = redis instanceof Cluster ? (redis as Cluster).nodes('master') : [redis];
  const { config } = connections;
  const [settings, replicas] = await Promise.all([
    ifAllowed(Promise.all(masters.map(settingsOf))),
    waitsForReplicas(config) > 0 ? ifAllowed(mostReplicas(connections, masters)) : 0,
  ]);
  const weak = settings?.flatMap((each) => weakSettings(config, each)) ?? [];
  if (replicas && replicas > config.ORDER_REPLICAS)
    weak.push(
      `a master has ${replicas} replicas, and ORDER_REPLICAS is ${config.ORDER_REPLICAS}: ` +
        'a replica that has not the order may be promoted',
    );
  return weak.length === 0 && (settings === null || replicas === null) ? null : weak;
}

async function ifAllowed<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ReplyError && /^(ERR unknown|NOPERM)/.test((error as Error).message))
      return null;
    throw error;
  }
}

/** One pattern in each command: Redis 6 knows no more. */
async function settingsOf(redis: Redis): Promise<RedisSettings> {
  const patterns = ['append*', syncsNotInRewrite, replicasMin, evicts];
  const answers = await Promise.all(
    patterns.map((pattern) => redis.call('CONFIG', 'GET', pattern) as Promise<string[]>),
  );
  return Object.fromEntries(pairsOf(answers.flat()));
}

/** At a start, before anything is sold. @throws DURABILITY_TOO_WEAK */
export async function agreeOnDurability(connections: Connections, log: Logger): Promise<void> {
  const { ORDER_DURABILITY } = connections.config;
  const weak = await weakDurability(connections);
  if (weak === null)
    log.error({ event: 'durability-not-checked', ORDER_DURABILITY, cause: notAllowed });
  else if (weak.length > 0) throw serviceError('DURABILITY_TOO_WEAK', ORDER_DURABILITY, weak);
}

interface CommitSettings {
  readonly flushes: number | string;
  readonly hasBinlog: number | string;
  readonly binlogSyncs: number | string;
}

/** @returns one sentence for each setting with which a power cut takes commits back. Pure. */
export function weakCommits({ flushes, hasBinlog, binlogSyncs }: CommitSettings): string[] {
  const weak: string[] = [];
  // 3 is MariaDB's: as 1, and once more.
  if (!['1', '3'].includes(String(flushes)))
    weak.push(`innodb_flush_log_at_trx_commit is ${flushes}, and must be 1`);
  // After a power cut, a transaction that the binary log does not have is rolled back.
  if (String(hasBinlog) === '1' && String(binlogSyncs) !== '1')
    weak.push(`sync_binlog is ${binlogSyncs}, and must be 1`);
  return weak;
}

/** An order leaves Redis once MySQL has committed it. At a start. @throws MYSQL_LOSES_COMMITS */
export async function agreeOnCommits(connections: Connections): Promise<void> {
  if (connections.config.MYSQL_MAY_LOSE_COMMITS) return;
  const [settings] = await select<CommitSettings>(
    connections.mysql(),
    `SELECT @@GLOBAL.innodb_flush_log_at_trx_commit AS flushes, @@GLOBAL.log_bin AS hasBinlog,
            @@GLOBAL.sync_binlog AS binlogSyncs`,
  );
  const weak = settings ? weakCommits(settings) : [];
  if (weak.length > 0) throw serviceError('MYSQL_LOSES_COMMITS', weak);
}

const notAllowed =
  'Redis does not allow CONFIG GET, INFO or CLUSTER NODES: compare its settings, and the number ' +
  'of its replicas, by hand.';

/** Warns when a replica may be promoted that does not have every accepted order. */
export function warnOfPromotion(config: Config, log: Logger): void {
  const { ORDER_DURABILITY, REDIS_CLUSTER, REDIS_SENTINELS } = config;
  const mayPromote = REDIS_CLUSTER || REDIS_SENTINELS.length > 0;
  if (mayPromote && ORDER_DURABILITY !== 'replica')
    log.warn({ event: 'promotion-loses-orders', ORDER_DURABILITY, cause: noWait });
}

const noWait =
  'A replica that is promoted does not have the orders that had not reached it: ' +
  'ORDER_DURABILITY=replica waits for all ORDER_REPLICAS of them.';

/**
 * How many replicas a master has, also those that are cut off from it at this moment; of the master
 * that has the most. WAIT counts acknowledgements, and not whose they are: only when all replicas
 * have an order, every one that may be promoted has it. A `replica-priority` changes nothing about
 * that.
 */
export async function mostReplicas(
  connections: Connections,
  masters: readonly Redis[],
): Promise<number> {
  const redis: object = connections.redis('admin');
  const attached = await Promise.all(masters.map(attachedTo));
  const known =
    redis instanceof Cluster ? await ofCluster(masters) : connections.sentinelReplicas();
  return Math.max(...attached, ...(await known));
}

async function attachedTo(master: Redis): Promise<number> {
  const info = await master.info('replication');
  // A backup by SYNC has no port, and nobody promotes it.
  return [...info.matchAll(/^slave\d+:.*\bport=[1-9]/gm)].length;
}

/** As one of its masters knows it; a replica that has failed cannot be promoted. */
async function ofCluster(masters: readonly Redis[]): Promise<number[]> {
  const asked = masters.map((master) => master.cluster('NODES') as Promise<string>);
  const nodes = await Promise.any(asked).catch((error: AggregateError) => {
    throw error.errors[0];
  });
  const counts = new Map<string, number>();
  for (const line of nodes.split('\n')) {
    const [, , flags = '', master = ''] = line.split(' ');
    const words = flags.split(',');
    if (words.includes('slave') && !words.includes('fail'))
      counts.set(master, (counts.get(master) ?? 0) + 1);
  }
  return [...counts.values()];
}
