/** The mutants of the locks: each removes one defence, and names the test that must notice. */
import type { RaceName } from '../../src/lab/play/schedules.ts';
import { exercises } from '../../src/lab/workshop/exercises.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import type { ClauseName } from '../contracts/lock.ts';
import { sampledRaces } from '../support/samples.ts';
import type { LockMutant } from './mutant.ts';

const clause = (lock: RungName, name: ClauseName) => `contracts/locks: ${lock} ${name}`;

const isSampled = (name: RaceName, on: RungName): boolean =>
  sampledRaces.some(({ race, rung }) => race === name && rung === on);

const race = (name: RaceName, rung: RungName): string =>
  `${isSampled(name, rung) ? 'drills' : 'long'}/races: ` +
  `${name} on ${rung} is as claimed, with its proof`;

const lastDown = 'with its last master down it is not available, says so, and frees what it took';
const stopMasters =
  'long/loads/stop-masters: no lock server that is stopped brings a second order; ' +
  'sales end and resume as claimed';

const rows = {
  'the check before the commit asks the signal only, which needs a timer': {
    file: 'service/locks/shared/leases',
    find: 'if (parts.remainingMs() <= 0) throw lostError();',
    turnsRed:
      'unit/leases: a lease that expired during a stall is not held, although its signal has not aborted',
  },
  'the watchdog does not stop with the last release': {
    file: 'service/locks/shared/ownership',
    find: 'if (this.#leases === 0) this.#end();',
    turnsRed: 'unit/leases: a watched lease is not renewed after its release',
  },
  'the watchdog has no timer': {
    ...exercises['renew-it'].changes[0],
    turnsRed: 'unit/leases: a watched lease is lost as soon as Redis says that it has it no more',
  },
  'every request has a mutex of its own': {
    ...exercises['right-mutex'].changes[0],
    turnsRed:
      'unit/process-mutex: the in-memory mutex tries once and does not queue without a wait',
  },
  'redis-expiry sets no expiry': {
    file: 'service/locks/redis-expiry',
    find: "redis.set(key, 'locked', 'PX', leaseMs, 'NX')",
    replace: "redis.set(key, 'locked', 'NX')",
    turnsRed: race('dead-holder', 'redis-expiry'),
    says: 'violated: progress, which the ladder does not claim',
  },
  'redis-owner releases without a look at the owner': {
    file: 'service/locks/redis-owner',
    find: 'if ((await redis.get(key)) !== owner) return;',
    turnsRed: race('release-after-expiry', 'redis-owner'),
    says: 'violated: one-order-per-user, which the ladder does not claim',
  },
  'redis-atomic compares, then deletes: two commands': {
    file: 'service/locks/redis-atomic',
    find:
      'const release = () => runScript(redis, releaseIfOwner, [key], [owner]);\n' +
      "    const beforeRelease = () => checkpoint('before-compare');",
    replace: `const release = async () => {
      if ((await redis.get(key)) !== owner) return void [runScript, releaseIfOwner];
      await checkpoint('owner-checked');
      await redis.del(key);
    };
    const beforeRelease = async () => {};`,
    turnsRed: race('check-then-delete', 'redis-atomic'),
    says: 'violated: mutual-exclusion, which the ladder does not claim',
  },
  'the script of redis-atomic deletes the key of any owner': {
    ...exercises['own-your-lock'].changes[0],
    turnsRed: clause('redis-atomic', 'does not release the next owner when it is released late'),
  },
  'redis-message releases without a message': {
    file: 'service/locks/redis-message',
    find: `if (answer === 'released' || mayBeUnheard) await redis.publish(channelOf(resource), owner);`,
    turnsRed: clause('redis-message', 'sends nothing while it waits: the release wakes it'),
  },
  'a release whose answer was lost is sent three times only': {
    file: 'service/locks/shared/server-lock',
    find: 'export const releaseTries = 30;',
    replace: 'export const releaseTries = 3;',
    turnsRed:
      'integration/late-grants: after a hang of Redis under load, no lock stays that nobody holds',
  },
  'a release does not end the earlier connections of its client': {
    file: 'service/locks/shared/server-lock',
    find: "this.#redis.client('KILL', 'ID', id)",
    replace: "this.#redis.client('ID')",
    turnsRed:
      'integration/late-grants: a request that reaches Redis after its release takes no effect',
  },
  'redis-reentrant releases by a count first, which a full Redis refuses': {
    file: 'lua/locks/release-reentrant.lua',
    find: 'if count > 1 then',
    replace: `redis.call('HINCRBY', KEYS[1], ARGV[3], 0)
if count > 1 then`,
    turnsRed: 'integration/full-redis: redis-reentrant is released',
    says: 'OOM',
  },
  'a waiter of redis-reentrant does not look again after it has subscribed': {
    file: 'service/locks/shared/release-notifications',
    find: 'if (!(await subscription.listening(leftMs(), signal))) return null;',
    replace: `if (!(await subscription.listening(leftMs(), signal))) return null;
    if (!(await subscription.notified(leftMs(), signal))) return null;`,
    turnsRed: race('lost-wakeup', 'redis-reentrant'),
    says: 'violated: progress, which the ladder does not claim',
  },
  'the watchdog renews nothing': {
    file: 'lua/locks/renew-reentrant.lua',
    find: "redis.call('PEXPIRE', KEYS[1], ARGV[1])\n",
    turnsRed: race('lease-expires-during-sale', 'redis-reentrant'),
    says: 'violated: one-order-per-user, which the ladder does not claim',
  },
  'redis-reentrant is granted to any owner': {
    file: 'lua/locks/acquire-reentrant.lua',
    find: "redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then",
    replace: "redis.call('HLEN', KEYS[1]) > 0 then",
    turnsRed: clause('redis-reentrant', 'excludes other processes'),
  },
  'redis-reentrant sets no expiry': {
    file: 'lua/locks/acquire-reentrant.lua',
    find: "  redis.call('PEXPIRE', KEYS[1], ARGV[1])\n",
    turnsRed: clause('redis-reentrant', 'is free after its owner died, with the default lease'),
  },
  'redis-reentrant releases without a message': {
    file: 'lua/locks/release-reentrant.lua',
    find: "redis.call('PUBLISH', KEYS[2], ARGV[1])\n",
    turnsRed: clause('redis-reentrant', 'sends nothing while it waits: the release wakes it'),
  },
  'redis-fair forgets its queue: a free lock is granted to any waiter': {
    file: 'lua/locks/acquire-fair.lua',
    find: "if redis.call('EXISTS', KEYS[1]) == 0 and (not head or head == ARGV[2]) then",
    replace: "if redis.call('EXISTS', KEYS[1]) == 0 then",
    turnsRed: race('dead-waiter', 'redis-fair'),
    says: 'held: the ladder claims progress, which did not break',
  },
  'redis-fair releases without a message': {
    file: 'lua/locks/release-fair.lua',
    find: "if head then redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[1]) end\n",
    turnsRed: clause('redis-fair', 'sends nothing while it waits: the release wakes it'),
  },
  'multilock skips a dead master': {
    file: 'service/locks/multilock',
    find: `throw this.#without(resource, cause, (each) => each === master || !isConnected(each));
      });
      if (!lease) return false;`,
    replace: `return undefined;
      });
      if (lease === undefined) continue;
      if (!lease) return false;`,
    turnsRed: `integration/multilock: ${lastDown}`,
  },
  'multilock does not roll back': {
    file: 'service/locks/multilock',
    find: 'if (!isComplete) for (const lease of leases) lease.release().catch(() => {});',
    turnsRed: `integration/multilock: ${lastDown}`,
  },
  'multilock forgets a grant whose answer was lost': {
    file: 'service/locks/shared/redisson-leases',
    find: 'if (isSent && !outer) this.#freeInTurn(owned).catch(() => {});',
    replace: 'if (isSent && !outer && this.#answerMs < 0) this.#freeInTurn(owned).catch(() => {});',
    turnsRed: 'integration/multilock: a grant whose answer was lost is released, as are the others',
  },
  'a release of multilock ends at the first dead master': {
    file: 'service/locks/multilock',
    find: 'const results = await Promise.allSettled(leases.map(work));',
    replace: `const results: PromiseSettledResult<void>[] = [];
    for (const lease of leases) {
      const [result] = await Promise.allSettled([work(lease)]);
      results.push(result);
      if (result.status === 'rejected') break;
    }`,
    turnsRed:
      'integration/multilock: a release goes on past a dead master, names it, and nobody renews the lease',
  },
  'multilock asks its masters in the order of its own configuration': {
    file: 'service/locks/multilock',
    find: '(addressOf(one) < addressOf(other) ? -1 : 1)',
    replace: '0',
    turnsRed:
      'integration/multilock: processes with the masters in another order do not wait for each other',
  },
  'multilock is lost as soon as one master forgets it': {
    file: 'service/locks/multilock',
    find: 'parts.every(({ signal }) => signal.aborted)',
    replace: 'parts.some(({ signal }) => signal.aborted)',
    turnsRed:
      'integration/multilock: one master that remembers keeps all others out; the lease is lost with the last',
  },
  'the first lease of multilock is not longer than the wait for the last': {
    file: 'service/locks/multilock',
    find: 'Math.max(2 * Math.ceil(waitMs), leaseMs)',
    replace: 'leaseMs',
    turnsRed:
      'integration/multilock: while it waits its leases last twice the wait, then as long as it asked for',
  },
  'multilock does not set its leases after the wait': {
    file: 'service/locks/multilock',
    find: 'async (lease) => lease.renew?.(leaseMs)',
    replace: 'async () => {}',
    turnsRed:
      'integration/multilock: while it waits its leases last twice the wait, then as long as it asked for',
  },
  'a lease is renewed for any owner': {
    file: 'lua/locks/renew-reentrant.lua',
    find: "if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end\n",
    turnsRed:
      'integration/multilock: a lease that another owner has by now is not renewed, and is lost',
  },
  'an owner shares a lease that expired during a stall': {
    file: 'service/locks/shared/owner',
    find: ' && own.lease.remainingMs() > 0',
    turnsRed:
      'integration/multilock: a lease inside another is a new one when the outer one expired during a stall',
  },
  'redlock is content with one master': {
    file: 'service/locks/redlock',
    find: 'new RedlockRound(masters, ',
    replace: 'new RedlockRound(masters.slice(0, 1), ',
    turnsRed:
      'integration/redlock-masters: redlock · two of three masters hung · refuses after its limit, with the numbers, and leaves nothing behind',
  },
  'redlock counts a dead master as one that granted the lock': {
    file: 'service/locks/shared/redlock-round',
    find: '      settle(error, result);',
    replace: '      settle(null, error ? 1 : result);',
    turnsRed: stopMasters,
    says: 'redlock, 2 of 3 stopped: sold ',
  },
  'redlock ignores the drift of clocks': {
    file: 'service/locks/redlock',
    find: 'leaseMs - elapsedMs - driftMs',
    replace: 'leaseMs - elapsedMs',
    turnsRed:
      'integration/redlock: redlock · a lease is shorter than its keys, by the drift that clocks may have',
  },
  'redlock waits for every master, as its package does': {
    file: 'service/locks/shared/redlock-round',
    find: ' || Math.max(this.#yes, this.#no) >= this.#majority',
    turnsRed:
      'integration/redlock-masters: redlock · one of three masters hung · no acquire, renewal or release waits for it',
  },
  'redlock has no limit for a master': {
    file: 'service/locks/shared/redlock-round',
    find: 'this.#giveUp(this.#silent)',
    replace: 'undefined',
    turnsRed:
      'integration/redlock-masters: redlock · two of three masters hung · refuses after its limit, with the numbers, and leaves nothing behind',
  },
  'redlock trusts the clock of the day': {
    file: 'service/locks/redlock',
    find: 'if (lock && validMs > 0)',
    replace: 'if (lock && elapsedMs >= 0)',
    turnsRed:
      'integration/redlock-masters: redlock · a lock that is granted after its lease is released and not returned, when the clock of the day stands still',
  },
  'redlock gives up masters whose answers have arrived': {
    file: 'service/locks/shared/redlock-round',
    find: 'setImmediate(() => this.#giveUp(this.#silent))',
    replace: 'this.#giveUp(this.#silent)',
    turnsRed:
      'integration/redlock-masters: redlock · answers that arrived while the event loop stood still count',
  },
  'a renewal that failed does not lose the lease': {
    file: 'service/locks/shared/leases',
    find: 'expiry.lose(lost);',
    turnsRed:
      'integration/redlock-masters: redlock · a renewal that no majority confirms loses the lease: its key is gone',
  },
  'fenced gives MySQL no fence before its commit': {
    ...exercises['fence-it'].changes[0],
    turnsRed: race('paused-holder', 'fenced'),
    says: 'violated: one-order-per-user',
  },
  'fenced lets the fence write that a newer grant has closed': {
    file: 'service/connections/fences',
    find: 'AND closed < ?',
    replace: 'AND closed <= ?',
    turnsRed: race('paused-holder', 'fenced'),
    says: 'violated: one-order-per-user',
  },
  'fenced checks its fence beside its transaction': {
    file: 'service/inventory/fenced-insert',
    find: 'await checkFence(db, resourceOf(scope, order), fence);',
    replace: 'await checkFence(await on.getConnection(), resourceOf(scope, order), fence);',
    turnsRed:
      'integration/fences: between a fence and its commit no newer lease is granted: the next sale sees the order',
  },
  'fenced counts its fences in Redis, which can forget them': {
    file: 'service/ladder/rungs',
    find: 'lock: (c) => fencedLock(atomic(c), c.mysql(), endlessLock(c)),',
    replace: `lock: (c) =>
      c.config.PORT > 0
        ? fencedByRedisLock(atomic(c), c.redis('lock'), c.mysql(), endlessLock(c))
        : fencedLock(atomic(c), c.mysql(), endlessLock(c)),`,
    turnsRed:
      'integration/fences: a lease has a larger fence than the one before it, also when Redis has lost its data',
  },
  'unique-rail sells without the unique key': {
    file: 'service/inventory/shared/sql-sale',
    find: 'hasRails(voucher) ? 1 : null',
    replace: 'hasRails(voucher) ? null : null',
    turnsRed:
      'long/stale-holder: paused-holder on unique-rail overlaps, and one order stays: MySQL refuses the other write, and it is counted',
    says: 'violated: one-order-per-user',
  },
  'zookeeper watches its own node instead of the one before it': {
    file: 'service/locks/shared/zookeeper-queue',
    find: '{before}`;',
    replace: '{before && this.#name}`;',
    turnsRed: clause('zookeeper', 'sends nothing while it waits: the release wakes it'),
  },
  'zookeeper does not sort its queue by number': {
    file: 'service/locks/shared/zookeeper-queue',
    find: 'names.toSorted((one, other) => numberOf(one) - numberOf(other));',
    replace: 'names.toSorted(() => numberOf("0"));',
    turnsRed: clause('zookeeper', 'never lets critical sections of several processes overlap'),
  },
  'zookeeper makes nodes that do not end with their session': {
    file: 'service/connections/zookeeper-nodes',
    find: 'CreateMode[name]',
    replace: "CreateMode[name === 'PERSISTENT' ? name : 'PERSISTENT_SEQUENTIAL']",
    turnsRed: clause('zookeeper', 'is free after its owner died, with the default lease'),
  },
  'zookeeper-latch looks again after it has made its latch': {
    file: 'service/locks/zookeeper-latch',
    find: 'latch = new AbortController();\n',
    replace: `latch = new AbortController();
    if (!(await exists(session, path))) return true;\n`,
    turnsRed: race('latch-after-exists', 'zookeeper-latch'),
    says: 'held: the ladder claims progress, which did not break',
  },
  'a message that comes while nobody waits is forgotten': {
    file: 'service/locks/shared/release-notifications',
    find: 'if (first) first();\n  else channel.pending = true;',
    replace: 'if (first) first();',
    turnsRed:
      'integration/release-notifications: a message that comes while nobody waits wakes the next one to wait',
  },
  'a waiter that fails after its message keeps it': {
    file: 'service/locks/shared/release-notifications',
    find: 'subscription.handOver(); // This waiter may have been notified, and cannot use it.',
    turnsRed:
      'integration/release-notifications: a waiter that fails after its message gives the message to the next one',
  },
  'redis-atomic counts its lease from the answer': {
    file: 'service/locks/shared/server-lock',
    find: 'leaseMs - (performance.now() - askedAt)',
    replace: 'leaseMs',
    turnsRed:
      'integration/lease-start: redis-atomic counts its lease from the request, and not from the late answer',
  },
  'redis-reentrant counts its lease from the answer': {
    file: 'service/locks/shared/redisson-leases',
    find: 'ownership.validFrom(askedAt, terms.leaseMs);',
    replace: 'ownership.validFrom(performance.now(), terms.leaseMs);',
    turnsRed:
      'integration/lease-start: redis-reentrant counts its lease from the request, and not from the late answer',
  },
  'redis-fair does not shorten the turns behind a grant': {
    file: 'lua/locks/acquire-fair.lua',
    find: "redis.call('ZINCRBY', KEYS[3], -turn, other)",
    replace: "redis.call('ZINCRBY', KEYS[3], 0, other)",
    turnsRed:
      'integration/fair: a grant, and a waiter that leaves, make the turns behind one turn earlier',
  },
  'redis-fair does not shorten the turns behind a waiter that leaves': {
    file: 'lua/locks/leave-fair.lua',
    find: "if is_behind then redis.call('ZINCRBY', KEYS[3], -tonumber(ARGV[2]), other) end",
    replace: "if is_behind then redis.call('ZINCRBY', KEYS[3], 0, other) end",
    turnsRed:
      'integration/fair: a grant, and a waiter that leaves, make the turns behind one turn earlier',
  },
  'a session of ZooKeeper is valid from the answer on': {
    file: 'service/connections/zookeeper',
    find: 'this.#validUntil = sentAt + Math',
    replace: 'this.#validUntil = performance.now() + Math',
    turnsRed:
      'integration/lease-start: a session of ZooKeeper is valid from its request on, and not from the late answer',
  },
} as const satisfies Record<string, Omit<LockMutant, 'name'>>;

/** The drill must see it too, under load. */
const skipsUnderLoad: LockMutant = {
  ...{ name: 'multilock skips a dead master', ...rows['multilock skips a dead master'] },
  ...{ turnsRed: stopMasters, says: 'multilock, 1 of 3 stopped: sold ' },
};

export const lockMutants: readonly LockMutant[] = [
  ...Object.entries(rows).map(([name, row]) => ({ name, ...row })),
  skipsUnderLoad,
];
const isQuick = ({ turnsRed }: LockMutant): boolean => turnsRed.startsWith('unit/');

/** They need no server: `npm test` runs them. */
export const quickMutants = lockMutants.filter(isQuick);
/** They need the servers of the lab: `npm run mutants` runs them. */
export const serverMutants = lockMutants.filter((mutant) => !isQuick(mutant));
