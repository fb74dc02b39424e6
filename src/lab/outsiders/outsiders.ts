/**
 * Queues of other packages, each as a row like those of the ladder. They sell in the lab only, and
 * are compared with the rungs of chapter 5.
 */
import type { Connections } from '../../service/connections/connections.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { addOutsider, ladder } from '../../service/ladder/rungs.ts';
import { type BullmqOptions, bullmqQueue } from './bullmq.ts';
import { type OutsiderName, outsiderNames } from './with-outsiders.ts';

type Times = Pick<BullmqOptions, 'lockDurationMs' | 'stalledIntervalMs'>;

/** Sold, and recorded, as with the other queues of chapter 5. */
const sale: Rung = ladder['redis-stream-group'];

const bullmq = (name: OutsiderName, timesOf: (c: Connections) => Times): Rung => ({
  ...sale,
  queue: (c) => {
    const { REDIS_URL: url, MYSQL_POOL_SIZE: concurrency } = c.config;
    const options = { name, url, concurrency, ...timesOf(c) };
    return bullmqQueue(c.redis('admin'), c.saleKeys, options);
  },
});

export const outsiders = {
  /** The times of its documentation, which are also its own. */
  bullmq: bullmq('bullmq', () => ({ lockDurationMs: 30_000, stalledIntervalMs: 30_000 })),
  /** A job is given to another worker about as soon as an order of our own queues is. */
  'bullmq-5s': bullmq('bullmq-5s', ({ config: { CLAIM_IDLE_MS } }) => ({
    lockDurationMs: CLAIM_IDLE_MS,
    stalledIntervalMs: Math.ceil(CLAIM_IDLE_MS / 2),
  })),
} as const satisfies Record<OutsiderName, Rung>;

/** In this process. Those of the service load this file before they start: `withOutsiders`. */
for (const name of outsiderNames) addOutsider(name, outsiders[name]);
