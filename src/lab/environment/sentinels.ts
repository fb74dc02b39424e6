/**
 * The three Sentinels, and the three Redis servers that they watch: which one is the master, and
 * the master's place given back to redis-main without the loss of a write.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programPath, type Server } from './processes.ts';
import { follow, hasAllOf, roleOf, withRedis } from './replication.ts';
import type { Ports } from './state.ts';
import { waitFor, waitUntil } from './wait-until.ts';

/** The name by which clients ask for the master. */
export const masterName = 'redis-main';

/**
 * Short, so that a drill is. Not one second: after a failover a Sentinel may connect to the new
 * master one second late. It would take it for dead, and promote the old one, which has no copy.
 */
export const downAfterMs = 2_000;

export function sentinelServer(name: string, folder: string, port: number, master: number): Server {
  const data = join(folder, name);
  const file = join(data, 'sentinel.conf');
  return {
    name,
    port,
    // A Sentinel writes what it learns into its file, and reads it when it starts again.
    prepare: async () => {
      mkdirSync(data, { recursive: true });
      if (!existsSync(file)) writeFileSync(file, settings(data, port, master));
    },
    program: () => ({
      command: programPath('redis-server'),
      args: [file, '--sentinel'],
      logFile: join(folder, `${name}.log`),
    }),
    answers: () => isPrepared(port),
  };
}

interface View {
  /** Of the master. */
  readonly port: number;
  /** `master`, and more words during a failover and while the master does not answer. */
  readonly flags: string;
  readonly replicas: number;
  readonly otherSentinels: number;
}

/** What this Sentinel knows. */
export const viewOf = (port: number): Promise<View> =>
  withRedis(port, async (sentinel) => {
    const answer = (await sentinel.call('SENTINEL', 'MASTER', masterName)) as string[];
    return {
      port: Number(fieldOf(answer, 'port')),
      flags: fieldOf(answer, 'flags'),
      replicas: Number(fieldOf(answer, 'num-slaves')),
      otherSentinels: Number(fieldOf(answer, 'num-other-sentinels')),
    };
  });

const fieldOf = (answer: readonly string[], name: string): string =>
  answer[answer.indexOf(name) + 1] ?? '';

/** A field of what this Sentinel knows of the replica on a port; empty when it knows none there. */
export const fieldOfReplica = (port: number, replica: number, name: string): Promise<string> =>
  withRedis(port, async (sentinel) => {
    const answers = (await sentinel.call('SENTINEL', 'REPLICAS', masterName)) as string[][];
    const own = answers.find((answer) => fieldOf(answer, 'port') === String(replica));
    return own ? fieldOf(own, name) : '';
  });

/** Before both replicas: the master is given back to it. */
export const priorityOfMain = '50';

/** True when this Sentinel has looked at redis-main as a replica: before, it takes it for a 100. */
const sawMainAsReplica = async (port: number, redisMain: number): Promise<boolean> =>
  (await fieldOfReplica(port, redisMain, 'role-reported')) === 'slave' &&
  (await fieldOfReplica(port, redisMain, 'slave-priority')) === priorityOfMain;

/** What Sentinel does by itself. */
const defaultLookEveryMs = 10_000;

/** How often this Sentinel asks each Redis what it is. */
export const lookEvery = (port: number, ms: number): Promise<void> =>
  withRedis(port, async (sentinel) => {
    await sentinel.call('SENTINEL', 'DEBUG', 'info-period', ms);
  });

/** It knows both replicas and both other Sentinels: before that it may promote the wrong one. */
async function isPrepared(port: number): Promise<boolean> {
  const { replicas, otherSentinels } = await viewOf(port);
  return replicas >= 2 && otherSentinels >= 2;
}

const settings = (data: string, port: number, master: number): string => `
port ${port}
bind 127.0.0.1
dir ${data}
sentinel monitor ${masterName} 127.0.0.1 ${master} 2
sentinel down-after-milliseconds ${masterName} ${downAfterMs}
sentinel failover-timeout ${masterName} 3000
sentinel parallel-syncs ${masterName} 1
`;

type SentinelPorts = Pick<Ports, 'redisMain' | 'replica' | 'secondReplica' | 'sentinels'>;

const settledWithinMs = 30_000;
const failoverWithinMs = 30_000;
const levelMs = 3_000;

/** The port of the master, when every Sentinel says the same and none sees a problem. */
export async function agreedMaster({ sentinels }: SentinelPorts): Promise<number | null> {
  const views = await Promise.all(sentinels.map(viewOf));
  return views.every(({ flags }) => flags === 'master') ? sharedPort(views) : null;
}

/** The port of the master, when every Sentinel says the same; a failover may be under way. */
async function namedMaster({ sentinels }: SentinelPorts): Promise<number | null> {
  return sharedPort(await Promise.all(sentinels.map(viewOf)));
}

function sharedPort([first, ...others]: readonly { readonly port: number }[]): number | null {
  return first && others.every(({ port }) => port === first.port) ? first.port : null;
}

/** Waits for a failover that is under way, and then makes redis-main the master. */
export async function restoreMain(ports: SentinelPorts): Promise<void> {
  const { redisMain, replica, secondReplica } = ports;
  // At once: the Sentinels could go back to redis-main before it has the writes of the master.
  const named = await settled(ports, namedMaster);
  if (named !== redisMain) await follow(redisMain, named);
  const agreed = await settled(ports, agreedMaster);
  if (agreed !== redisMain) await failBack(ports, agreed);
  // By themselves they correct a replica of another one, or an old master, some seconds later.
  for (const port of [replica, secondReplica]) await follow(port, redisMain);
}

const settled = (
  ports: SentinelPorts,
  masterOf: (ports: SentinelPorts) => Promise<number | null>,
): Promise<number> => waitFor('the Sentinels to agree', settledWithinMs, () => masterOf(ports));

/**
 * Sentinel would promote redis-main while this master goes on taking writes, and those would be
 * lost. So writes wait until redis-main has everything and is the master.
 */
async function failBack(ports: SentinelPorts, master: number): Promise<void> {
  const { redisMain, sentinels } = ports;
  await follow(redisMain, master);
  await seenAsReplica(ports);
  await withRedis(master, async (old) => {
    await old.call('CLIENT', 'PAUSE', failoverWithinMs, 'WRITE');
    try {
      await caughtUp(master, redisMain);
      await failOver(sentinels[0] ?? 0, redisMain);
      await old.replicaof('127.0.0.1', redisMain); // From now on it refuses a write by itself.
    } finally {
      await old.call('CLIENT', 'UNPAUSE'); // A pause would keep back its master's writes, too.
    }
  });
  await follow(master, redisMain);
  await waitUntil(
    'the Sentinels to name redis-main',
    settledWithinMs,
    async () => (await agreedMaster(ports)) === redisMain,
  );
}

/**
 * A Sentinel that last saw redis-main as a master takes it for an old one that came back, and makes
 * it a replica again just when it is promoted. One that has not read its priority may promote
 * another replica.
 */
async function seenAsReplica({ redisMain, sentinels }: SentinelPorts): Promise<void> {
  const look = (everyMs: number) => Promise.all(sentinels.map((port) => lookEvery(port, everyMs)));
  try {
    await look(200);
    await waitUntil('the Sentinels to see a replica', settledWithinMs, async () => {
      const saw = await Promise.all(sentinels.map((port) => sawMainAsReplica(port, redisMain)));
      return saw.every(Boolean);
    });
  } finally {
    await look(defaultLookEveryMs);
  }
}

/** Asks for one failover: a second one would go the other way. */
async function failOver(sentinel: number, to: number): Promise<void> {
  const promoted = async () => (await roleOf(to)) === 'master';
  await waitUntil('a Sentinel to begin a failover', failoverWithinMs, async () => {
    await withRedis(sentinel, (redis) => redis.call('SENTINEL', 'FAILOVER', masterName));
    return true;
  });
  await waitUntil('the Sentinels to promote redis-main', failoverWithinMs, promoted);
}

/**
 * The replica has every write that the master answered. The master answers no write for a while, so
 * that this stays so.
 */
export async function level(master: number, replica: number): Promise<void> {
  await withRedis(master, async (redis) => {
    await redis.call('CLIENT', 'PAUSE', levelMs, 'WRITE');
    await caughtUp(master, replica);
  });
}

const caughtUp = (master: number, replica: number): Promise<void> =>
  waitUntil('the replica to catch up', 10_000, () => hasAllOf(replica, master));
