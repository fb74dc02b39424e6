/**
 * The hops of an order behind the sale, and a kill at each of them: the last voucher is sold, its
 * order is on its way, and something dies exactly there. `W` is the process that consumes the
 * queue: an order worker, or the instance itself.
 */
import type { Schedule, Step } from './schedule.ts';

const queued = {
  instances: 4,
  stock: 1,
  lanes: { A: '7', B: '8' },
  needs: 'queue',
  shows: 'no-lost-orders',
} as const;

/** Faults of the database, which no rung is meant to break under. */
const onDatabase = { ...queued, rung: 'memory', lanes: { A: '7' } } as const;

const isAccepted: Step = { run: 'A', until: 'answer', text: 'is told: accepted' };
const soldOut: Step = {
  run: 'B',
  until: 'answer',
  text: 'sold out, but nobody bought it',
  wrong: true,
};
const delivered: Step = { run: 'W', until: 'delivered', text: 'has the order in hand' };
const isCommitting: Step = { run: 'W', until: 'recording', text: 'is about to commit' };
const commitLost: Step = {
  run: 'W',
  until: 'recorded',
  text: 'has lost its commit',
  wrong: true,
};

export const queueSchedules = {
  'instance-dies': {
    title: 'the instance dies after it has queued an order',
    under: 'instance-dies',
    rung: 'memory',
    next: 'redis-list',
    ...queued,
    steps: [
      {
        run: 'A',
        until: 'published',
        orUntil: ['before-release'],
        text: 'has queued its order',
      },
      delivered,
      isAccepted,
      { kill: 'A', answered: true, text: 'dies, with all that it remembers' },
      soldOut,
    ],
  },
  'worker-dies': {
    title: 'the worker dies with an order in hand',
    under: 'worker-dies',
    rung: 'redis-list',
    next: 'redis-list-reliable',
    ...queued,
    steps: [
      isAccepted,
      delivered,
      { kill: 'W', text: 'dies before it records the order' },
      soldOut,
    ],
  },
  'worker-dies-after-commit': {
    title: 'the worker dies between the commit and the acknowledgement',
    under: 'worker-dies-after-commit',
    rung: 'redis-list-reliable',
    ...queued,
    steps: [
      isAccepted,
      { run: 'W', until: 'recorded', text: 'has committed the order' },
      { kill: 'W', text: 'dies before it acknowledges' },
      soldOut,
    ],
  },
  'worker-away': {
    title: 'no worker runs while an order is queued',
    under: 'worker-away',
    rung: 'redis-pubsub',
    next: 'redis-stream-last-id',
    ...queued,
    steps: [
      { fault: 'workers-away', text: 'no order worker runs' },
      isAccepted,
      { heal: 'workers-away', text: 'an order worker starts' },
      soldOut,
    ],
  },
  'queue-restarts': {
    title: 'the server of the queue is killed, and restarts with its data',
    under: 'queue-restarts',
    rung: 'redis-pubsub',
    next: 'redis-stream',
    ...queued,
    stock: 2,
    steps: [
      { fault: 'workers-paused', text: 'the order workers stand still' },
      isAccepted,
      { fault: 'queue-restarts', text: 'is killed, and starts' },
      { run: 'B', until: 'answer', text: 'accepted; no worker is connected', wrong: true },
      { heal: 'workers-paused', text: 'they go on, and connect again' },
    ],
  },
  'database-restarts': {
    title: 'the database is killed during a batch, and restarts',
    under: 'database-restarts',
    ...onDatabase,
    steps: [
      isAccepted,
      isCommitting,
      { fault: 'database-restarts', text: 'is killed, and starts' },
      commitLost,
    ],
  },
  'session-killed': {
    title: 'the session of the worker is killed in the database',
    under: 'session-killed',
    ...onDatabase,
    steps: [
      isAccepted,
      isCommitting,
      { fault: 'session-killed', text: 'its session is killed' },
      commitLost,
    ],
  },
  'connections-used-up': {
    title: 'other clients have all connections of the database',
    under: 'connections-used-up',
    ...onDatabase,
    steps: [
      isAccepted,
      delivered,
      { fault: 'connections-used-up', text: 'refuses: too many connections' },
      {
        run: 'W',
        until: 'recorded',
        unlessRecorded: true,
        text: 'gives the order up',
        wrong: true,
      },
      { heal: 'connections-used-up', text: 'the others are gone' },
    ],
  },
} as const satisfies Record<string, Schedule>;
