import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import type { InventoryModule } from '../../src/inventory/inventory.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { open as openMutex } from '../../src/locks/process-mutex.ts';
import { workOrders } from '../../src/orders/order-worker.ts';
import { open as openQueue } from '../../src/queues/redis-stream-group.ts';
import { openConnections, quiet, quietRedis } from '../support/connections.ts';
import { type ClauseName, type Contestant, clauses } from './inventory.ts';

type Exceptions = Partial<Record<ClauseName, string>>;

const anyNumber = 'it sells to a user any number of times';
const idempotent = 'only the final rung remembers requests';

/** Every inventory, and the clauses it fails on purpose with the reason. */
const inventories: Record<string, { open: () => Promise<InventoryModule>; fails: Exceptions }> = {
  'read-then-write': {
    open: () => import('../../src/inventory/read-then-write.ts'),
    fails: {
      'never sells more than there is to many users at once': 'two sales read the same stock',
      'sells one to a user who asks many times at once': anyNumber,
      'names the order that the user already has': anyNumber,
      'answers the same request again with the order it already has': idempotent,
    },
  },
  'version-check': {
    open: () => import('../../src/inventory/version-check.ts'),
    fails: {
      'never sells more than there is to many users at once':
        'it sells fewer: of all who read one version, one gets to write',
      'names the order that the user already has': anyNumber,
      'answers the same request again with the order it already has': idempotent,
    },
  },
  'stock-compare-and-set': {
    open: () => import('../../src/inventory/stock-compare-and-set.ts'),
    fails: {
      'never sells more than there is to many users at once':
        'it sells fewer: of all who read one stock, one gets to write',
      'names the order that the user already has': anyNumber,
      'answers the same request again with the order it already has': idempotent,
    },
  },
  'row-lock': {
    open: () => import('../../src/inventory/row-lock.ts'),
    fails: {
      'sells one to a user who asks many times at once': anyNumber,
      'names the order that the user already has': anyNumber,
      'answers the same request again with the order it already has': idempotent,
    },
  },
  'stock-positive': {
    open: () => import('../../src/inventory/stock-positive.ts'),
    fails: {
      'sells one to a user who asks many times at once': anyNumber,
      'names the order that the user already has': anyNumber,
      'answers the same request again with the order it already has': idempotent,
    },
  },
  'check-then-insert': {
    open: () => import('../../src/inventory/check-then-insert.ts'),
    fails: {
      'sells one to a user who asks many times at once':
        'without a lock around it two requests look before either inserts',
      'answers the same request again with the order it already has': idempotent,
    },
  },
  'lock-inside-transaction': {
    open: () => import('../../src/inventory/lock-inside-transaction.ts'),
    fails: {
      'sells one to a user who asks many times at once': 'its lock is free before its commit',
      'answers the same request again with the order it already has': idempotent,
    },
  },
  'bypassed-transaction': {
    open: () => import('../../src/inventory/bypassed-transaction.ts'),
    fails: {
      'sells one to a user who asks many times at once':
        'without a lock around it two requests look before either inserts',
      'answers the same request again with the order it already has': idempotent,
      'sells nothing under a lease that was lost': 'what it wrote is committed already',
    },
  },
  'lua-stream': {
    open: () => import('../../src/inventory/lua-stream.ts'),
    fails: {
      'sells nothing under a lease that was lost':
        'it needs no lease: the script is the critical section',
    },
  },
};

describe.each(Object.entries(inventories))('%s', (_name, { open, fails }) => {
  const stop = new AbortController();
  let connections: Connections;
  let contestant: Contestant;
  let worker: Promise<void>;

  beforeAll(async () => {
    connections = openConnections({ REDIS_URL: quietRedis(), BATCH_GATHER_MS: '0' });
    const inventory = (await open()).open(connections, openMutex());
    const queue = openQueue(connections);
    await connections.ready();
    worker = workOrders(connections, queue, quiet, stop.signal);
    const drained = () =>
      waitUntil('the queue to drain', 20_000, async () => (await queue.depth()) === 0);
    contestant = { inventory, connections, drained };
  });
  afterAll(async () => {
    stop.abort();
    await worker;
    await connections.close();
  });

  for (const [clause, holds] of Object.entries(clauses)) {
    const reason = fails[clause as ClauseName];
    const title = reason === undefined ? clause : `fails on purpose (${reason}): ${clause}`;
    test(title, async () => {
      expect(await holds(contestant)).toBe(reason === undefined);
    });
  }
});
