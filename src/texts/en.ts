/** The sentences of the ladder: complete by type, and those of zh.ts have the type of these. */
import type { CheckName, RefusalReason, Verdict } from '../service/domain.ts';
import type { Circumstance, Reason, Rung } from '../service/ladder/rung.ts';
import type { RungName } from '../service/ladder/rungs.ts';
import type { StoryName } from '../service/ladder/story.ts';
import type { CheckpointName } from '../service/trace/checkpoints.ts';

export const en = {
  /** `meaning`: why its rush ends as it does. */
  story: {
    'one-process': {
      title: 'a mutex, 1 process',
      meaning: 'The requests of a user wait for one mutex, and buy one after the other.',
    },
    'four-processes': {
      title: 'the same mutex, 4 processes',
      meaning: 'Each process has its own mutex, and nginx sends a user to all four.',
    },
    'shared-lock': {
      title: 'a Redis lock, 4 processes',
      meaning: 'All four processes ask one Redis for the lock.',
    },
    'one-script': {
      title: 'Lua script + Redis Stream, 4 processes',
      meaning: 'No lock: one script checks and sells, a stream takes the order to MySQL.',
    },
  } satisfies Record<StoryName, object>,
  chapters: {
    1: 'stock',
    2: 'one order per user, one instance',
    3: 'several instances',
    4: 'failover',
    5: 'queues',
    6: 'final',
  } satisfies Record<Rung['chapter'], string>,
  /** What the rung does, and what a learner should take from it. */
  rungs: {
    'read-then-write': {
      idea: 'reads the stock, then writes it back one lower',
      lesson: 'A check and a write in two steps sell more than there is.',
    },
    'version-check': {
      idea: 'reads stock and version, writes if the version is unchanged',
      lesson: 'Never oversells, but refuses many buyers although stock is left.',
    },
    'stock-compare-and-set': {
      idea: 'reads the stock, writes if the stock is unchanged',
      lesson: 'The stock can be its own version, with the same refusals.',
    },
    'stock-positive': {
      idea: 'one UPDATE with the condition stock > 0',
      lesson: 'One conditional statement sells exactly the stock.',
    },
    'row-lock': {
      idea: 'SELECT … FOR UPDATE, then writes',
      lesson: 'Exact, but all buyers of a voucher wait in one line.',
    },
    'redis-stock': {
      idea: 'keeps the stock in Redis: GET, then SET, under a Redis lock on the voucher',
      lesson: 'Exact while the lock is right; all buyers wait in one line.',
    },
    'redis-semaphore-stock': {
      idea: 'the stock is the permits of a semaphore in Redis; MySQL records the order',
      lesson: 'A permit has no owner: what a dead process took stays taken.',
    },
    'check-then-insert': {
      idea: 'looks for an order of the user, then inserts one',
      lesson: 'Two requests of one user both find no order.',
    },
    'mutex-fresh-key': {
      idea: 'a mutex on an object that every request makes anew',
      lesson: 'Equal keys are not the same key: the un-interned string.',
    },
    'mutex-on-transaction': {
      idea: 'one mutex for the method, inside the transaction (@Transactional synchronized)',
      lesson: 'The mutex ends before the transaction commits.',
    },
    'mutex-inside-transaction': {
      idea: 'a mutex per user, inside the transaction',
      lesson: 'Release the lock after the commit, never before it.',
    },
    'mutex-bypassed-transaction': {
      idea: 'a mutex per user around statements that commit one by one',
      lesson: 'A call that bypasses the proxy has no transaction.',
    },
    'mutex-per-method': {
      idea: 'one mutex for all purchases of the process',
      lesson: 'Right in one process, serial, and wrong in four.',
    },
    'mutex-per-user': {
      idea: 'a mutex per user in the memory of the process',
      lesson: 'Right in one process. Four processes have four mutexes.',
    },
    'redis-no-expiry': {
      idea: 'SET NX in Redis, DEL to release',
      lesson: 'One lock for all instances; a dead owner or a lost release keeps it for ever.',
    },
    'redis-expiry-later': {
      idea: 'SETNX, then EXPIRE; DEL to release',
      lesson: 'A crash between two commands undoes what they promise together.',
    },
    'redis-expiry': {
      idea: 'SET NX PX, DEL to release',
      lesson: 'A late release deletes the lock of the next owner.',
    },
    'redis-owner': {
      idea: 'SET NX PX with an owner; GET, compare, then DEL to release',
      lesson: 'Compare and delete must be one step.',
    },
    'redis-atomic': {
      idea: 'SET NX PX with an owner; a script compares and deletes',
      lesson: 'The release is right; a sale longer than its lease is not.',
    },
    'redis-no-retry': {
      idea: 'the lock of redis-atomic, tried once without waiting',
      lesson: 'Safe, but turns buyers away although stock is left.',
    },
    'redis-message': {
      idea: 'SET NX PX; the release publishes a message to the waiters',
      lesson: 'A waiter that subscribes too late sleeps beside a free lock.',
    },
    'redis-reentrant': {
      idea: 'a hash with a count, a watchdog and messages (Redisson’s RLock)',
      lesson: 'Holds through long sales and re-entry, while its process runs and Redis remembers.',
    },
    'redis-reentrant-lease': {
      idea: 'the lock of redis-reentrant with a lease time, which turns its watchdog off',
      lesson: 'A lease time is a promise that no sale takes longer.',
    },
    'redis-spin': {
      idea: 'the hash and watchdog of redis-reentrant; waiters ask again',
      lesson: 'No message to miss, but a free lock is noticed late.',
    },
    'redis-fair': {
      idea: 'the hash and watchdog of redis-reentrant; the longest waiter is next',
      lesson: 'First come, first served; a dead waiter blocks the queue.',
    },
    'zookeeper-latch': {
      idea: 'a numbered ephemeral node; the notes’ wait: exists, then a latch',
      lesson: 'Between exists and the latch a release goes unnoticed.',
    },
    zookeeper: {
      idea: 'a numbered ephemeral node; each waiter watches the node before its own',
      lesson: 'The lock ends with its owner’s session: the owner is dead, or only paused.',
    },
    multilock: {
      idea: 'the lock of redis-reentrant on all of three independent Redis masters',
      lesson: 'Keeps out others while one master remembers; needs all three to sell.',
    },
    redlock: {
      idea: 'a majority of three independent Redis masters',
      lesson:
        'One master may be down. One that lost its data breaks the lock, and so does an expired lease.',
    },
    'fenced-by-redis': {
      idea: 'the lock of redis-atomic; Redis numbers the leases, and MySQL checks the number of a write',
      lesson: 'A fence that is counted beside the lock is forgotten with the lock.',
    },
    fenced: {
      idea: 'the lock of redis-atomic; MySQL numbers the leases, and checks the number of a write',
      lesson: 'Two owners may run at once; MySQL refuses the write of the older one.',
    },
    'unique-rail': {
      idea: 'the lock of redis-expiry, and a unique key of MySQL over voucher and user',
      lesson: 'The lock may fail; the unique key refuses the second order.',
    },
    'redis-commands': {
      idea: 'stock and buyers in Redis, with separate commands',
      lesson: 'Four atomic commands are not atomic together.',
    },
    memory: {
      idea: 'the claim script; orders wait in a list in the memory of the instance',
      lesson: 'What only a process knows dies with the process.',
    },
    'redis-list': {
      idea: 'the claim script; orders wait in a Redis list, and a worker pops them',
      lesson: 'A popped order exists only in the worker that popped it.',
    },
    'redis-list-reliable': {
      idea: 'the claim script; a worker moves orders to a list of its own until they are recorded',
      lesson: 'Move instead of pop: another worker moves back what a dead one had.',
    },
    'redis-pubsub': {
      idea: 'the claim script; the order is published on a Redis channel',
      lesson: 'A message that nobody hears is gone.',
    },
    'redis-stream': {
      idea: 'the claim script; orders wait in a stream, read with XREAD from new entries on',
      lesson: 'A reader that starts at new entries never reads what came while it was away.',
    },
    'redis-stream-last-id': {
      idea: 'the claim script; the stream is read with XREAD from the last id that was stored',
      lesson: 'Store the id after the commit: right for one reader, wrong for two.',
    },
    'redis-stream-group': {
      idea: 'a script takes the stock, then the instance queues the order in a stream',
      lesson: 'A crash between the script and the queue strands the stock.',
    },
    rabbitmq: {
      idea: 'the claim script; orders wait in RabbitMQ: confirms, acknowledgements, dead letters',
      lesson: 'What is confirmed is kept; the gap before the publish stays.',
    },
    'merged-commit': {
      idea: 'gathers the buyers of a millisecond, and sells to all of them in one transaction',
      lesson: 'One COMMIT for many buyers: accepted is recorded, without a queue.',
    },
    'unit-rows': {
      idea: 'a row per unit; each sale locks one that is free (SKIP LOCKED)',
      lesson: 'No hot row: the number of database connections is the limit.',
    },
    'lua-stream': {
      idea: 'one script checks, sells and queues; workers record in MySQL',
      lesson: 'One step in Redis, at-least-once into MySQL: exact and fast.',
    },
    'lua-buckets': {
      idea: 'one script per purchase, on one of several shards that share the stock of a voucher',
      lesson:
        'Users are spread over buckets, and an empty bucket borrows stock: exact, and on many cores.',
    },
  } satisfies Record<RungName, object>,
  verdicts: {
    held: 'held',
    violated: 'violated',
    unknown: 'unknown',
  } satisfies Record<Verdict, string>,
  checks: {
    'no-oversell': 'never more orders than stock',
    'one-order-per-user': 'never two orders for one user',
    'no-lost-orders': 'every accepted order exists',
    'no-phantom-orders': 'no order without a request',
    'redis-matches-mysql': 'Redis and MySQL have the same stock and buyers',
    'order-ids-unique': 'an order id means one order',
    'responses-match-database': 'the answers to clients are true',
    'mutual-exclusion': 'a lock has one owner at a time',
    progress: 'a free lock can be acquired',
  } satisfies Record<CheckName, string>,
  circumstances: {
    'two-requests-at-once': 'two requests run at the same time',
    'several-instances': 'several processes sell',
    'crash-between-writes': 'the process dies between two writes',
    'crash-before-expire': 'the process dies between SETNX and EXPIRE',
    'crash-before-publish': 'the process dies between the claim and the queue',
    'instance-dies': 'the instance dies after it queued an order',
    'worker-dies': 'the worker dies with an order in hand',
    'worker-dies-after-commit': 'the worker dies between the commit and the acknowledgement',
    'worker-away': 'no order worker runs while an order is queued',
    'queue-restarts': 'the server of the queue is killed and restarts with its data',
    'database-restarts': 'the database is killed during a batch, and restarts',
    'session-killed': 'the session of a worker is killed in the database',
    'connections-used-up': 'other clients have all connections of the database',
    'holder-dies': 'the owner of the lock dies',
    'release-after-expiry': 'the owner releases after its lease expired',
    'lease-expires-in-release': 'the lease expires between comparing and deleting',
    'lease-expires-during-sale': 'the sale takes longer than the lease',
    'holder-pauses': 'the process of the owner stands still for longer than the lease',
    're-entry': 'the owner acquires its lock again',
    'lost-wakeup': 'the lock is released before the waiter listens',
    'never-released': 'the owner forgets to release',
    'waiter-dies': 'a process that waits for the lock dies',
    'stale-promotion': 'a replica without the lock becomes the master',
    'restart-empty': 'a lock server restarts without its data, within the lease',
    'restart-empty-delayed':
      'a lock server restarts without its data, later than the longest lease',
    'restart-with-data': 'a lock server restarts with its data, within the lease',
    'scripts-forgotten': 'the lock servers forget their scripts',
    'holder-cut-off': 'the owner is cut off from its lock servers for longer than the lease',
    'event-loop-blocked': 'the event loop of the owner stands still for longer than the lease',
    'servers-slow': 'too many lock servers answer too late',
    'servers-hung': 'too many lock servers stand still for a while',
  } satisfies Record<Circumstance, string>,
  reasons: {
    'two-read-the-same-stock': 'two sales read the same stock, and both write it back one lower',
    'both-check-before-insert': 'two requests of one user both check before either inserts',
    'mutex-of-its-own-object':
      'every request locks its own object: equal values, different mutexes',
    'released-before-commit': 'the next owner checks before the commit, and cannot see the order',
    'separate-mutexes': 'each process has its own mutex, and none knows of the others',
    'two-inside-at-once': 'two requests are in the critical section at once',
    'stock-without-order': 'the stock is taken, and the process dies before it inserts the order',
    'taken-in-redis-only':
      'one is taken from the stock in Redis, and the transaction in MySQL is rolled back',
    'permit-lost': 'the process dies with a permit, and nobody releases it',
    'waits-for-itself': 'the owner waits for its own lock until its time is over',
    'key-stays': 'the key of the dead owner stays for ever',
    'key-without-expiry': 'the key was set and never got its expiry',
    'deletes-next-key':
      'the late release deletes the key of the next owner, and a third request enters',
    'deletes-in-the-gap': 'the delete hits the key of the next owner, and a third request enters',
    'sale-outlasts-lease': 'the sale commits beside the sale of the next owner',
    'paused-past-lease':
      'a paused process cannot renew its lease; it resumes, and commits beside the next owner',
    'message-lost': 'the message is published before the waiter has subscribed',
    'latch-missed': 'the node is removed before the latch exists, so the event opens nothing',
    'lock-stays-held': 'the living process keeps the lock for ever',
    'dead-waiter-blocks':
      'the lock stays reserved for the dead waiter until its turn times out, minutes later',
    'commands-interleave':
      'the commands of two requests interleave: both check before either writes',
    'claimed-not-published': 'stock and buyer are used up, and no queue has the order',
    'gone-with-its-process': 'the order was only in the memory of the process',
    'popped-and-lost': 'the order was popped, so only the dead worker had it',
    'heard-and-lost': 'the message was delivered, so only the dead worker had it',
    'nobody-listened': 'the message was published to nobody',
    'read-and-lost': 'the dead worker had read the entry, and the next one starts behind it',
    'reads-only-new': 'the worker starts at new entries, behind the order',
    'replica-without-lock': 'the new master has no key, so the next owner commits beside the first',
    'lock-forgotten': 'the server has no key any more, so the next owner commits beside the first',
    'fence-given-again':
      'Redis forgets the count with the lock, so two leases have one number, and both write',
    'fences-start-again': 'an empty server counts its fences from the beginning',
    'late-grant-stays': 'the lock is granted after its caller gave up, and nobody releases it',
    'release-lost': 'the release does not reach the server, and the key has no expiry',
  } satisfies Record<Reason, string>,
  /** What a lane did, whatever the rung: true wherever it is at that place. */
  steps: {
    'voucher-inserted': 'the voucher is in MySQL',
    'change-begun': 'has begun to change the sale',
    'bucket-adjusted': 'has changed the stock of a bucket',
    'change-applied': 'has changed the sale in Redis',
    'before-subscribe': 'finds it taken, is about to wait',
    'before-expire': 'has set the key, without expiry',
    'after-acquire': 'has the lock',
    'after-check': 'has looked: it may buy',
    'stock-taken': 'has taken one from the stock',
    lent: 'a bucket has lent stock',
    put: 'a bucket has got stock',
    claimed: 'has taken one in Redis',
    published: 'has queued its order',
    delivered: 'has the order in hand',
    recording: 'is about to commit the order',
    recorded: 'has tried to record the order',
    'before-commit': 'is about to commit',
    'before-release': 'is about to leave',
    'before-compare': 'is about to compare the owner',
    'owner-checked': 'has compared the owner',
    'sold-out': 'is told: sold out',
    'already-ordered': 'is told: you have an order',
    'not-started': 'is told: not started',
    ended: 'is told: ended',
    'sale-paused': 'is told: the sale is paused',
    busy: 'is told: busy',
    'database-busy': 'is told: the database is busy',
    conflict: 'is refused: the row has changed',
    'lease-lost': 'is refused: its lease is over',
    'stale-fence': 'is refused: its fence is too old',
    'lock-service-unavailable': 'gives up: the lock has no answer',
    'queue-full': 'is refused: the queue is full',
    'not-ready': 'is refused: not ready',
    sold: 'buys',
    accepted: 'is told: accepted',
    'no-answer': 'gets no answer',
    'answer-lost': 'gets no answer: it is lost',
    'waits-for-lock': 'waits for the lock',
    'waits-for-store': 'waits for the database',
    killed: 'its process is killed',
    paused: 'its process stands still',
    resumed: 'its process runs again',
    'lease-over': 'its lease expires',
    'still-locked': 'time passes, its lock stays',
    'time-passes': 'the time of a lease passes',
    'no-lease': 'there is no lease that could end',
    'nothing-to-hit': 'there is no such server',
    'no-effect': 'nothing happened',
    'not-there': 'nothing was there to hit',
    slow: 'neither arrives nor waits',
    'no-lock-there': 'the server did not have the lock',
    'recorded-anyway': 'the order was recorded before',
    'outlasts-the-lease': 'it lasted longer than the lease',
  } satisfies Record<CheckpointName | RefusalReason, string> & Record<string, string>,
};

export type LadderText = typeof en;

/** Where a lane of a race is after a step, or what has become of the step. */
export type StepPlace = keyof LadderText['steps'];
