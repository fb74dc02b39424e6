import type { LadderText } from './text.ts';

export const en: LadderText = {
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
  },
  chapters: {
    1: 'stock',
    2: 'one order per user, one instance',
    3: 'several instances',
    4: 'failover',
    5: 'queues',
    6: 'final',
  },
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
      lesson: 'Survives one dead master; a lease can still run out.',
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
      lesson: 'No hot row; the connections that sales keep are the limit.',
    },
    'lua-stream': {
      idea: 'one script checks, sells and queues; workers record in MySQL',
      lesson: 'One step in Redis, at-least-once into MySQL: exact and fast.',
    },
    'lua-buckets': {
      idea: 'one script per purchase, on one of several shards that share the stock of a voucher',
      lesson: 'Route users, not vouchers, and an empty bucket borrows: exact on many cores.',
    },
  },
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
  },
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
  },
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
    'waits-for-itself': 'the owner waits for its own lock until its time is over',
    'key-stays': 'the key of the dead owner stays for ever',
    'key-without-expiry': 'the key was set and never got its expiry',
    'deletes-next-key':
      'the late release deletes the key of the next owner, and a third request enters',
    'deletes-in-the-gap': 'the delete hits the key of the next owner, and a third request enters',
    'sale-outlasts-lease': 'the sale commits beside the sale of the next owner',
    'paused-past-lease':
      'nobody renews the lease of a process that stands still; it resumes, and commits beside the next owner',
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
    'fences-start-again': 'an empty server counts its fences from the beginning',
    'late-grant-stays': 'the lock is granted after its caller gave up, and nobody releases it',
    'release-lost': 'the release does not reach the server, and the key has no expiry',
  },
};
