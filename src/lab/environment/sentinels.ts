/**
 * The three Sentinels, and the three Redis servers that they watch: which one is the master, and
 * the master's place given back to redis-main without the loss of a write.
 */
import { follow, hasAllOf, roleOf, withRedis } from './replication.ts';
import {
  defaultLookEveryMs,
  lookEvery,
  masterName,
  sawMainAsReplica,
  viewOf,
} from './servers/sentinel.ts';
import type { Ports } from './state.ts';
import { waitFor, waitUntil } from './wait-until.ts';

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
