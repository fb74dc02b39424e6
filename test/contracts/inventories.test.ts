/** Runs the contract of inventories for every inventory of the ladder. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { type Order, resourceOf } from '../../src/service/domain.ts';
import { inventoryRungs } from '../../src/service/ladder/factories.ts';
import { openQueues, openRung } from '../../src/service/ladder/open-rung.ts';
import { rungNamed, rungNames } from '../../src/service/ladder/rungs.ts';
import { fencedLock } from '../../src/service/locks/fenced.ts';
import { noLock } from '../../src/service/locks/none.ts';
import { workOrders } from '../../src/service/orders/work-orders.ts';
import { installGate } from '../../src/service/trace/checkpoints.ts';
import { openConnections, quiet, quietRedis } from '../support/connections.ts';
import { type ClauseName, type Contestant, clauses, sellBesideAnOrder } from './inventory.ts';

type Exceptions = Partial<Record<ClauseName, string>>;

const manyPerUser: Exceptions = {
  'sells one to a user who asks many times at once': 'it sells a user any number',
  'names the order that the user already has': 'it sells a user any number',
};
const forgetful: Exceptions = {
  'answers a repeated request with the order it already has': 'it does not remember requests',
};
const refusesWinners = (read: string): Exceptions => ({
  'never sells more than there is to many users at once': `it sells fewer: one of those that read one ${read} writes`,
});
const unlocked: Exceptions = {
  'sells one to a user who asks many times at once':
    'without a lock around it, two requests check before either inserts',
};
const releasedEarly: Exceptions = {
  'sells one to a user who asks many times at once': 'its lock is released before the commit',
};
const needsNoLease: Exceptions = {
  'sells nothing under a lost lease': 'it needs no lease: the script is the critical section',
};

/**
 * The clauses that an inventory fails on purpose, with the reason, by the first rung that has it.
 */
const exceptions: Readonly<Record<string, Exceptions>> = {
  'read-then-write': {
    ...forgetful,
    ...manyPerUser,
    'sells one to a user who asks many times at once': 'two sales read the same stock',
    'never sells more than there is to many users at once': 'two sales read the same stock',
  },
  'version-check': {
    ...forgetful,
    ...refusesWinners('version'),
    'names the order that the user already has': 'it sells a user any number',
  },
  'stock-compare-and-set': {
    ...forgetful,
    ...refusesWinners('stock'),
    'names the order that the user already has': 'it sells a user any number',
  },
  'row-lock': { ...forgetful, ...manyPerUser },
  'stock-positive': { ...forgetful, ...manyPerUser },
  'redis-stock': {
    ...forgetful,
    ...manyPerUser,
    'never sells more than there is to many users at once':
      'without a lock around it, two sales read the same stock',
  },
  'check-then-insert': { ...forgetful, ...unlocked },
  'fenced-by-redis': forgetful,
  'redis-semaphore-stock': {
    ...forgetful,
    ...manyPerUser,
    'is stopped by the rails when the user has an order already':
      'it is stopped, and releases its permit; the earlier order took none',
  },
  'mutex-on-transaction': { ...forgetful, ...releasedEarly },
  'mutex-bypassed-transaction': {
    ...forgetful,
    ...unlocked,
    'sells nothing under a lost lease': 'its statements are committed already',
  },
  'redis-commands': {
    ...forgetful,
    ...needsNoLease,
    'never sells more than there is to many users at once': 'its commands interleave',
    'sells one to a user who asks many times at once': 'its commands interleave',
  },
  memory: needsNoLease,
  'unit-rows': {
    ...forgetful,
    'sells one to a user who asks many times at once':
      'without rails, each request of the user locks a unit of its own',
  },
  'lua-stream': needsNoLease,
  'lua-buckets': needsNoLease,
};

const rungs = inventoryRungs();
const inRedis = rungNames.filter((name) => rungNamed(name).queueServer === 'redis-main');

/**
 * A commit that takes its time: a lock that is released before it then shows its fault every time.
 */
installGate(async (checkpoint) => {
  if (checkpoint === 'before-commit') await sleep(50);
});

test('every exception belongs to an inventory of the ladder', () => {
  expect(rungs).toEqual(expect.arrayContaining(Object.keys(exceptions)));
});

describe.each(rungs)('%s', (rung) => {
  const stop = new AbortController();
  let connections: Connections;
  let contestant: Contestant;
  let workers: Promise<unknown>;

  beforeAll(async () => {
    connections = openConnections({ REDIS_URL: quietRedis(), BATCH_GATHER_MS: '0' });
    const { inventory, queue } = await openRung(rung, connections);
    const own = queue && rungNamed(rung).queueInProcess ? [queue] : [];
    const queues = [...openQueues(inRedis, connections), ...own];
    await connections.ready();
    workers = Promise.all(
      queues.map((queue) => workOrders(connections, queue, quiet, stop.signal)),
    );
    const isEmpty = async () => {
      const depths = await Promise.all(queues.map((queue) => queue.depth()));
      return depths.every((depth) => depth === 0);
    };
    const drained = () => waitUntil('the queues to drain', 20_000, isEmpty);
    const { scope } = rungNamed(rung);
    const freely =
      rung === 'fenced-by-redis' ? fencedLock(noLock(), connections.mysql()) : noLock();
    const lease = async (order: Order) => {
      const granted = await freely.acquire(resourceOf(scope, order), { waitMs: 5_000 });
      return granted ?? expect.unreachable('nobody excludes anybody');
    };
    contestant = { inventory, connections, drained, lease };
  });
  afterAll(async () => {
    stop.abort();
    await workers;
    await connections.close();
  });

  if (rung === 'redis-stock')
    test('loses one from stock when its sale fails after the SET', async () => {
      expect(await sellBesideAnOrder(contestant, [])).toEqual({ confirmed: 1, taken: 1 });
    });

  if (rung === 'redis-semaphore-stock')
    test('releases the permit of a sale that MySQL refuses', async () => {
      expect(await sellBesideAnOrder(contestant, [])).toEqual({ confirmed: 1, taken: 0 });
    });

  for (const [clause, holds] of Object.entries(clauses)) {
    const reason = exceptions[rung]?.[clause as ClauseName];
    const title = reason === undefined ? clause : `fails on purpose (${reason}): ${clause}`;
    test(title, async () => {
      expect(await holds(contestant)).toBe(reason === undefined);
    });
  }
});
