/**
 * The only reader of process.env: every name, its default and its limits. Read once, when a process
 * starts.
 */

import { readFileSync } from 'node:fs';
import { availableParallelism, hostname } from 'node:os';
import { z } from 'zod';
import { bucketsMax, shardsMax } from './domain.ts';
import { serviceError } from './errors.ts';
import { differsLittle } from './spelling.ts';

const flag = z.enum(['0', '1']).transform((value) => value === '1');
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
);
/** Digits only: an empty text is a mistake, and not 0. */
const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(least).max(most));
const milliseconds = whole(1, 86_400_000);
const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;
/** As `host:port`, comma-separated; or nothing. */
const addresses = z
  .string()
  .regex(/^$|^[\w.-]+:\d{1,5}(,[\w.-]+:\d{1,5})*$/, 'must be host:port')
  .default('');

const hostsAndPorts = addresses.transform((value) =>
  value
    .split(',')
    .filter(Boolean)
    .map((address) => {
      const [host = '', port] = address.split(':');
      return { host, port: Number(port) };
    }),
);

/** From the cheapest to the safest. */
export const durabilities = ['everysec', 'always', 'replica'] as const;
export type Durability = (typeof durabilities)[number];

/** 32 random hexadecimal digits have more different characters, but for one in a million. */
const charactersMin = 8;
const isHardToGuess = (secret: string): boolean =>
  new Set(secret).size >= charactersMin && !/change[-_ ]?(me|it|this)/i.test(secret);

const secret = z
  .string()
  .min(32)
  .regex(/^(?!.*(PRIVATE|PUBLIC))/, 'must not contain PRIVATE or PUBLIC: it would be read as a key')
  .refine(isHardToGuess, 'must be random: it is a placeholder, or has few different characters');

/** The lab's secret is published: k6 and the command line sign with it too. */
export const labTokenSecret = 'lockstep-lab-secret-that-signs-tokens';

/**
 * As many as there are cores: with more of them, fewer buyers share a call of the script. Two at
 * least: one sells while the other one is replaced.
 */
export const instancesByDefault = (cores = availableParallelism()): number =>
  Math.min(64, Math.max(2, cores));

const Environment = z.object({
  /** The address that the API instances listen on. */
  HOST: z.string().default('127.0.0.1'),
  /**
   * Port of the first API instance; the others follow (with BALANCER=cluster all share this one).
   */
  PORT: whole(1, 65_000).default(8080),
  /**
   * A folder in which every API instance also listens on a Unix socket, `<INSTANCE>.sock`, for an
   * nginx on the same machine: it costs less than a port. Empty: none does.
   */
  SOCKET_FOLDER: z.string().default(''),
  /** API processes, and order worker processes, on this machine. */
  INSTANCES: whole(0, 64).default(instancesByDefault()),
  ORDER_WORKERS: whole(0, 16).default(1),
  /**
   * The first part of every instance's name; several machines need several. Empty: the name of the
   * host, which in a container is the container's id.
   */
  NAME: z
    .string()
    .regex(/^[a-z0-9-]{0,64}$/)
    .default('api')
    .transform((name) => name || hostName()),
  /** This process's name in logs and answers; the primary gives each of its children one. */
  INSTANCE: z.string().default(''),
  /** nginx: a port for each instance. cluster: one port, shared out by Node's own cluster. */
  BALANCER: z.enum(['nginx', 'cluster']).default('nginx'),
  MYSQL_URL: z.url(),
  /** The password of MYSQL_URL, when it is not in there. */
  MYSQL_PASSWORD: z.string().default(''),
  /**
   * The account that makes the tables, when it is another one: that of MYSQL_URL then reads and
   * writes rows only.
   */
  MYSQL_OWNER_URL: z.union([z.literal(''), z.url()]).default(''),
  MYSQL_POOL_SIZE: whole(1, 100).default(10),
  /** Most statements that wait for a connection in each process; further ones are not ready. */
  MYSQL_QUEUE_LIMIT: whole(1, 1_000_000).default(1_000),
  /** 1: MySQL may sync its log less than at each commit, and lose orders in a power cut. */
  MYSQL_MAY_LOSE_COMMITS: flag.default(false),
  /**
   * How long MySQL may be silent while a statement waits, also for a row lock. Later, the
   * connection is destroyed.
   */
  MYSQL_ANSWER_MS: milliseconds.default(10_000),
  /**
   * The Redis of the final rung: vouchers, buyers and the order stream. Also the single-Redis
   * locks.
   */
  REDIS_URL: z.url(),
  /** 1: REDIS_URL is one node of a Redis Cluster. */
  REDIS_CLUSTER: flag.default(false),
  /**
   * More nodes of it, as `host:port`, comma-separated: a process starts by any that answers. The
   * user, password and TLS are those of REDIS_URL.
   */
  REDIS_CLUSTER_NODES: hostsAndPorts,
  /**
   * The Sentinels of REDIS_URL, as `host:port`, comma-separated. They name the master; the user,
   * password, database and TLS are still those of REDIS_URL.
   */
  REDIS_SENTINELS: hostsAndPorts,
  /**
   * What an accepted order of the final rung survives. everysec: a killed Redis. always: a power
   * cut too. replica: also the loss of the Redis that accepted it (docs/design.md).
   */
  ORDER_DURABILITY: z.enum(durabilities).default('always'),
  /**
   * With ORDER_DURABILITY=replica: the replicas of each master. An order is accepted once all of
   * them have it, because each of them may be promoted.
   */
  ORDER_REPLICAS: whole(1, 16).default(1),
  /** The name under which the Sentinels know the master. */
  REDIS_SENTINEL_NAME: z.string().min(1).default('redis-main'),
  /**
   * The final rung's keys are in this many slots of a Redis Cluster, one order stream in each.
   */
  SALE_SHARDS: whole(1, shardsMax).default(1),
  /** The number of buckets of a new voucher of `lua-buckets` that declares none. */
  VOUCHER_BUCKETS: whole(1, bucketsMax).default(4),
  /** The independent masters of MultiLock and Redlock, comma-separated. */
  REDLOCK_URLS: list.pipe(z.array(z.url())).default([]),
  /** ZooKeeper's servers as `host:port`, comma-separated; for the ZooKeeper rung only. */
  ZOOKEEPER_URL: addresses,
  /**
   * How long ZooKeeper keeps the locks of a process that it does not hear from, in milliseconds.
   */
  ZOOKEEPER_SESSION_MS: whole(500, 60_000).default(4_000),
  /** RabbitMQ as `amqp://user:password@host:port`; for the RabbitMQ rung only. */
  RABBITMQ_URL: z.union([z.literal(''), z.url({ protocol: /^amqps?$/ })]).default(''),
  /** Signs and verifies bearer tokens (HS256). */
  TOKEN_SECRET: secret,
  /** While the secret changes: the one before, whose tokens are still read. Or empty. */
  TOKEN_SECRET_BEFORE: z.union([z.literal(''), secret]).default(''),
  /**
   * Where an issuer publishes its public keys (a JWKS): then only its tokens are read, and
   * TOKEN_SECRET signs the passes of waiting rooms alone. Empty: it signs the tokens.
   */
  TOKEN_JWKS_URL: z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).default(''),
  /** The `iss` and `aud` that a token must have. Empty: any. */
  TOKEN_ISSUER: z.string().default(''),
  TOKEN_AUDIENCE: z.string().default(''),
  /** The longest life of a token, in seconds from now; 0: any. A longer one is refused. */
  TOKEN_LONGEST_SECONDS: whole(0, 1_000_000_000).default(0),
  /**
   * The origins whose pages may call the service from a browser, as `https://shop.example`,
   * comma-separated. Empty: pages of its own origin only.
   */
  CORS_ORIGINS: list
    .refine((all) => all.every(isOrigin), 'must be origins, as https://shop.example')
    .default([]),
  /** The rungs that vouchers may be sold by, comma-separated, or `all`. */
  ALLOWED_RUNGS: list.default(['lua-stream']),
  /** 1 in the lab only: vouchers may have `lab` options, and /lab routes exist. */
  LAB: flag.default(false),
  /** In the lab: the Redis of its races and pauses, which no fault touches. Empty: REDIS_URL. */
  LAB_REDIS_URL: z.union([z.literal(''), z.url()]).default(''),
  /**
   * In the lab: a header of every answer, so that a lab does not mistake the instances of another
   * for its own.
   */
  LAB_ID: z.string().default(''),
  /** In the lab: the folder of the history. Empty: no history is kept. */
  HISTORY_FOLDER: z.string().default(''),
  /**
   * How order ids are made: in memory with a leased worker id, or counted in Redis
   * (docs/design.md).
   */
  ORDER_IDS: z.enum(['snowflake', 'redis-worker']).default('snowflake'),
  LOCK_WAIT_MS: milliseconds.default(3_000),
  LOCK_LEASE_MS: milliseconds.default(10_000),
  /** A reentrant lock's lease: renewed every third of it while its owner works. */
  LOCK_WATCHDOG_MS: milliseconds.default(30_000),
  /** How long a fair lock is kept free for the waiter whose turn it is. */
  LOCK_TURN_MS: milliseconds.default(300_000),
  /** How long one answer of a lock server may take. */
  LOCK_ANSWER_MS: milliseconds.default(500),
  /** How long the answer of the purchase script may take; a later answer is `outcome-unknown`. */
  PURCHASE_ANSWER_MS: milliseconds.default(2_000),
  /** Most orders that wait in a queue with a bound; further ones are refused as `queue-full`. */
  QUEUE_LIMIT: whole(1, 10_000_000).default(10_000),
  /**
   * How often a user may try to buy in a second, at one instance; a further try is refused as
   * `too-many-requests`. 0: as often as they like.
   */
  USER_TRIES_PER_SECOND: whole(0, 1_000_000).default(10),
  /**
   * How long the pass of a waiting room lets its user buy. Then the pass lapses, and the next user
   * has a turn.
   */
  PASS_MS: whole(1_000, 86_400_000).default(60_000),
  /** Most purchases in progress in one instance; a further one is refused as `overloaded`. */
  PURCHASES_AT_ONCE: whole(1, 1_000_000).default(5_000),
  /**
   * Most streams of orders that one instance has open for users who wait. Each takes two of the
   * connections of nginx, which purchases need too.
   */
  ORDER_STREAMS: whole(0, 100_000).default(200),
  /** Days from the end of a sale until its keys are deleted from Redis; 0: never. */
  ENDED_SALE_DAYS: whole(0, 3_650).default(30),
  /**
   * Most orders that a worker records in one transaction. Those of one entry of the stream, 100 at
   * most, stay together.
   */
  BATCH_SIZE: whole(1, 1_000).default(500),
  /** How long a worker waits after a batch that was not full: fewer, larger transactions. */
  BATCH_GATHER_MS: whole(0, 5_000).default(50),
  /**
   * How long a worker may take for one batch. Later, its connections to MySQL are destroyed, and
   * the orders are delivered again.
   */
  BATCH_LIMIT_MS: milliseconds.default(30_000),
  /**
   * An order that a worker did not settle in this time is claimed by another. At most half of
   * PROGRESS_WITHIN_MS.
   */
  CLAIM_IDLE_MS: milliseconds.default(5_000),
  /**
   * A process that sees no progress for so long is not healthy: orders wait and none is recorded,
   * or the purchase's connection does not answer. If its stores answer on new connections, it ends
   * and is replaced. One that stands still is killed by the primary, but not in the lab.
   */
  PROGRESS_WITHIN_MS: whole(2_000, 3_600_000).default(10_000),
  /** How long a stopping process waits for requests in flight. */
  DRAIN_MS: milliseconds.default(5_000),
  /** How long a starting service waits for MySQL to answer. */
  START_WAIT_MS: milliseconds.default(60_000),
  /**
   * A folder in which each consumer of an order worker writes a file whenever it makes progress,
   * for a health check. Empty: none is written.
   */
  HEARTBEAT_FOLDER: z.string().default(''),
  /**
   * How often the observer compares Redis and MySQL; large sales less often, so that it rests ten
   * times as long as it works. 0: it does not.
   */
  RECONCILE_EVERY_MS: whole(0, 86_400_000).default(20_000),
  /**
   * The port of the metrics of the primary; those of its children follow, in the order in which
   * they are started. It is not for the public. 0: there are none.
   */
  METRICS_PORT: whole(0, 65_000).default(0),
  /**
   * Where a collector of OpenTelemetry takes traces, as `http://host:4318/v1/traces`. Empty: there
   * are none.
   */
  TRACES_URL: z
    .union([z.literal(''), z.url({ protocol: /^https?$/ })])
    .refine((url) => !/^\w+:\/\/[^/]*@/.test(url), 'must have no user and no password')
    .default(''),
  /** The part of all purchases that is traced. */
  TRACES_RATIO: z
    .string()
    .regex(/^(0|1|0?\.\d{1,9})$/, 'must be from 0 to 1')
    .default('1')
    .transform(Number),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

export type Config = Readonly<z.output<typeof Environment>>;

/** What two settings must be together. */
interface Relation {
  readonly name: keyof Config;
  readonly message: string;
  /** Values that are no numbers pass: they are reported separately. */
  readonly isBroken: (env: Config) => boolean;
  /** Beside other problems too, so that all are named at once. */
  readonly always?: true;
}

/** One slow answer must not lose a lease. */
const outlastsAnswers = (
  name: 'LOCK_LEASE_MS' | 'LOCK_WATCHDOG_MS' | 'ZOOKEEPER_SESSION_MS',
): Relation => ({
  name,
  message: 'must be at least three times LOCK_ANSWER_MS',
  isBroken: (env) => Number(env[name]) < Number(env.LOCK_ANSWER_MS) * 3,
  always: true,
});

const isOwnSecret = (name: 'TOKEN_SECRET' | 'TOKEN_SECRET_BEFORE'): Relation => ({
  name,
  message: "must not be the lab's, which is published",
  isBroken: (env) => !env.LAB && env[name] === labTokenSecret,
});

const relations: readonly Relation[] = [
  outlastsAnswers('LOCK_LEASE_MS'),
  outlastsAnswers('LOCK_WATCHDOG_MS'),
  outlastsAnswers('ZOOKEEPER_SESSION_MS'),
  {
    // Workers without orders count a redelivery of the oldest order as progress: without one in
    // time they would be replaced.
    name: 'CLAIM_IDLE_MS',
    message: 'must be at most half of PROGRESS_WITHIN_MS',
    isBroken: (env) => Number(env.CLAIM_IDLE_MS) > Number(env.PROGRESS_WITHIN_MS) / 2,
    always: true,
  },
  {
    name: 'REDIS_SENTINELS',
    message: 'must be empty with REDIS_CLUSTER=1: a cluster has no Sentinels',
    isBroken: (env) => env.REDIS_CLUSTER && env.REDIS_SENTINELS.length > 0,
  },
  {
    name: 'REDIS_CLUSTER_NODES',
    message: 'needs REDIS_CLUSTER=1',
    isBroken: (env) => !env.REDIS_CLUSTER && env.REDIS_CLUSTER_NODES.length > 0,
  },
  {
    name: 'TOKEN_JWKS_URL',
    message: 'needs TOKEN_ISSUER and TOKEN_AUDIENCE: its keys sign tokens for other services too',
    isBroken: (env) => !!env.TOKEN_JWKS_URL && !(env.TOKEN_ISSUER && env.TOKEN_AUDIENCE),
    always: true,
  },
  isOwnSecret('TOKEN_SECRET'),
  isOwnSecret('TOKEN_SECRET_BEFORE'),
];

const Relations = relations.reduce(
  (schema, { name, message, isBroken, always }) =>
    schema.refine((env) => !isBroken(env), {
      path: [name],
      message,
      ...(always && { when: () => true }),
    }),
  Environment,
);

/** The replicas that must have an order, or a change of a sale, before it is answered. */
export const waitsForReplicas = (
  config: Pick<Config, 'ORDER_DURABILITY' | 'ORDER_REPLICAS'>,
): number => (config.ORDER_DURABILITY === 'replica' ? config.ORDER_REPLICAS : 0);

/**
 * @throws CONFIGURATION_INVALID with every problem named; values are left out, since some are
 * secret.
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const { values, problems } = readSecretFiles(env);
  const result = Relations.safeParse({ ...env, ...values });
  const issues = result.error?.issues ?? [];
  const all = [
    ...problems,
    ...surprises(env),
    ...issues.map(({ path, message }) => `${path.join('.')}: ${message}`),
  ];
  if (!result.success || all.length > 0) throw serviceError('CONFIGURATION_INVALID', all);
  const { MYSQL_URL, MYSQL_PASSWORD } = result.data;
  return Object.freeze({ ...result.data, MYSQL_URL: withPassword(MYSQL_URL, MYSQL_PASSWORD) });
}

/** Each may be in a file instead, as a container's secrets are: TOKEN_SECRET_FILE is its path. */
export const secretNames = [
  'MYSQL_URL',
  'MYSQL_PASSWORD',
  'MYSQL_OWNER_URL',
  'REDIS_URL',
  'RABBITMQ_URL',
  'TOKEN_SECRET',
  'TOKEN_SECRET_BEFORE',
] as const;

function readSecretFiles(env: NodeJS.ProcessEnv) {
  const values: Record<string, string> = {};
  const problems: string[] = [];
  for (const name of secretNames) {
    const file = env[`${name}_FILE`];
    if (!file) continue;
    if (env[name]) problems.push(`${name}_FILE: ${name} is set too`);
    try {
      values[name] = readFileSync(file, 'utf8').replace(/\n+$/, '');
    } catch (error) {
      problems.push(`${name}_FILE: cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  }
  return { values, problems };
}

/** What is allowed alone, and surely a mistake in this environment. */
function surprises(env: NodeJS.ProcessEnv): string[] {
  const isLabInProduction = env['LAB'] === '1' && env['NODE_ENV'] === 'production';
  return [
    ...(isLabInProduction ? ['LAB: must not be 1 with NODE_ENV=production'] : []),
    ...Object.keys(env).flatMap((name) => {
      const meant = misspelled(name);
      return meant === undefined ? [] : [`${name}: is not known; ${meant} is`];
    }),
  ];
}

/** A short name differs from many others by as little. */
const shortestName = 8;

/** The name that an unknown name is likely to mean: a letter or two are wrong, or its unit. */
function misspelled(name: string): string | undefined {
  const isKnown = configNames.includes(name) || secretNames.some((each) => `${each}_FILE` === name);
  if (isKnown || name.length < shortestName) return undefined;
  return configNames.find(
    (each) => each.length >= shortestName && (`${name}_MS` === each || differsLittle(name, each)),
  );
}

function withPassword(mysqlUrl: string, password: string): string {
  if (password === '') return mysqlUrl;
  const url = new URL(mysqlUrl);
  url.password = encodeURIComponent(password);
  return url.href;
}

/** Linux has none longer than 64. Hosts of one deployment differ in their last characters. */
const hostName = (): string =>
  hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(-64);

/** Every name that the service reads from its environment. */
export const configNames: readonly string[] = Object.keys(Environment.shape);
