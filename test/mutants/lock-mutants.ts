/** The mutants of the locks: each removes one defence, and names the test that must notice. */

import type { RaceName } from '../../src/lab/races/schedules.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import type { ClauseName } from '../contracts/lock.ts';
import { sampledRaces } from '../support/samples.ts';
import type { Mutant } from './mutant.ts';

const clause = (lock: RungName, name: ClauseName): Mutant['red'] => ({
  file: 'test/contracts/locks.test.ts',
  test: `${lock} ${name}`,
});

const multilock = (test: string): Mutant['red'] => ({
  file: 'test/integration/multilock.test.ts',
  test,
});

const redlock = (test: string): Mutant['red'] => ({
  file: 'test/integration/redlock-masters.test.ts',
  test,
});

/** The drill must see it too, under load. */
const stopMasters = (says: string): Mutant['red'] => ({
  file: 'test/long/alone/stop-masters.test.ts',
  test: 'no lock server that is stopped brings a second order; sales end and resume as claimed',
  says,
});

const isSampled = (name: RaceName, on: RungName): boolean =>
  sampledRaces.some(({ race, rung }) => race === name && rung === on);

const race = (name: RaceName, rung: RungName, says: string): Mutant['red'] => ({
  file: `test/${isSampled(name, rung) ? 'drills' : 'long'}/races.test.ts`,
  test: `${name} on ${rung} is as claimed, with its proof`,
  says,
});

/** They need no server: `npm test` runs them. */
export const quickMutants: readonly Mutant[] = [
  {
    name: 'the check before the commit asks the signal only, which needs a timer',
    file: 'src/service/locks/shared/leases.ts',
    find: 'if (parts.remainingMs() <= 0) throw lostError();',
    replace: 'void lostError;',
    red: {
      file: 'test/unit/leases.test.ts',
      test: 'a lease that expired during a stall is not held, although its signal has not aborted',
    },
  },
  {
    name: 'the watchdog does not stop with the last release',
    file: 'src/service/locks/shared/ownership.ts',
    find: 'if (this.#leases === 0) this.#end();',
    replace: '',
    red: {
      file: 'test/unit/leases.test.ts',
      test: 'a watched lease is not renewed after its release',
    },
  },
  {
    name: 'every request has a mutex of its own',
    file: 'src/service/locks/process-mutex.ts',
    find: 'entries.get(resource) ?? { mutex: new Mutex(), users: 0 }',
    replace: '{ mutex: new Mutex(), users: 0 }',
    red: {
      file: 'test/unit/process-mutex.test.ts',
      test: 'the in-memory mutex tries once and does not queue without a wait',
    },
  },
];

const skip = {
  name: 'multilock skips a dead master',
  file: 'src/service/locks/multilock.ts',
  find: `throw this.#without(resource, cause, (each) => each === master || !isConnected(each));
      });
      if (!lease) return false;`,
  replace: `void [cause, isConnected];
        return undefined;
      });
      if (lease === undefined) continue;
      if (!lease) return false;`,
};
const lastDown = 'with its last master down it is not available, says so, and frees what it took';
const skipsDeadMaster: readonly Mutant[] = [
  { ...skip, red: multilock(lastDown) },
  { ...skip, red: stopMasters('multilock, 1 of 3 stopped: sold ') },
];

/** They need the servers of the lab: `npm run mutants` runs them. */
export const serverMutants: readonly Mutant[] = [
  {
    name: 'redis-expiry sets no expiry',
    file: 'src/service/locks/redis-expiry.ts',
    find: "redis.set(key, 'locked', 'PX', leaseMs, 'NX')",
    replace: "redis.set(key, 'locked', 'NX')",
    red: race('dead-holder', 'redis-expiry', 'violated: progress, which the ladder does not claim'),
  },
  {
    name: 'redis-owner releases without a look at the owner',
    file: 'src/service/locks/redis-owner.ts',
    find: 'if ((await redis.get(key)) !== owner) return;',
    replace: '',
    red: race(
      'release-after-expiry',
      'redis-owner',
      'violated: one-order-per-user, which the ladder does not claim',
    ),
  },
  {
    name: 'redis-atomic compares, then deletes: two commands',
    file: 'src/service/locks/redis-atomic.ts',
    find: "await checkpoint('before-compare');\n      await leases.giveBack(release);",
    replace: `await leases.giveBack(async () => {
        if ((await redis.get(key)) !== owner) return void release;
        await checkpoint('owner-checked');
        await redis.del(key);
      });`,
    red: race(
      'check-then-delete',
      'redis-atomic',
      'violated: mutual-exclusion, which the ladder does not claim',
    ),
  },
  {
    name: 'the script of redis-atomic deletes the key of any owner',
    file: 'lua/locks/release-if-owner.lua',
    find: "if redis.call('GET', KEYS[1]) == ARGV[1] then",
    replace: "if redis.call('GET', KEYS[1]) then",
    red: clause('redis-atomic', 'does not release the next owner when it is released late'),
  },
  {
    name: 'redis-message releases without a message',
    file: 'src/service/locks/redis-message.ts',
    find: `if (answer === 'released' || mayBeUnheard) await redis.publish(channelOf(resource), owner);`,
    replace: 'void [answer, mayBeUnheard];',
    red: clause('redis-message', 'sends nothing while it waits: the release wakes it'),
  },
  {
    name: 'a release whose answer was lost is sent three times only',
    file: 'src/service/locks/shared/lost-answer.ts',
    find: 'export const releaseTries = 30;',
    replace: 'export const releaseTries = 3;',
    red: {
      file: 'test/integration/late-grants.test.ts',
      test: 'after a hang of Redis under load, no lock stays that nobody holds',
    },
  },
  {
    name: 'a release does not end the earlier connections of its client',
    file: 'src/service/locks/shared/earlier-connections.ts',
    find: "this.#redis.client('KILL', 'ID', id)",
    replace: "this.#redis.client('ID').finally(() => void id)",
    red: {
      file: 'test/integration/late-grants.test.ts',
      test: 'a request that reaches Redis after its release takes no effect',
    },
  },
  {
    name: 'redis-reentrant releases by a count first, which a full Redis refuses',
    file: 'lua/locks/release-reentrant.lua',
    find: 'if count > 1 then',
    replace: `redis.call('HINCRBY', KEYS[1], ARGV[3], 0)
if count > 1 then`,
    red: {
      file: 'test/integration/full-redis.test.ts',
      test: 'redis-reentrant is released',
      says: 'OOM',
    },
  },
  {
    name: 'a waiter of redis-reentrant does not look again after it has subscribed',
    file: 'src/service/locks/shared/release-notifications.ts',
    find: 'if (!(await subscription.listening(leftMs(), signal))) return null;',
    replace: `if (!(await subscription.listening(leftMs(), signal))) return null;
    if (!(await subscription.notified(leftMs(), signal))) return null;`,
    red: race(
      'lost-wakeup',
      'redis-reentrant',
      'violated: progress, which the ladder does not claim',
    ),
  },
  {
    name: 'the watchdog renews nothing',
    file: 'lua/locks/renew-reentrant.lua',
    find: "redis.call('PEXPIRE', KEYS[1], ARGV[1])\n",
    replace: '',
    red: race(
      'lease-expires-during-sale',
      'redis-reentrant',
      'violated: one-order-per-user, which the ladder does not claim',
    ),
  },
  {
    name: 'redis-reentrant is granted to any owner',
    file: 'lua/locks/acquire-reentrant.lua',
    find: "redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then",
    replace: "redis.call('HLEN', KEYS[1]) > 0 then",
    red: clause('redis-reentrant', 'excludes other processes'),
  },
  {
    name: 'redis-reentrant sets no expiry',
    file: 'lua/locks/acquire-reentrant.lua',
    find: "  redis.call('PEXPIRE', KEYS[1], ARGV[1])\n",
    replace: '',
    red: clause('redis-reentrant', 'is free after its owner died, with the default lease'),
  },
  {
    name: 'redis-reentrant releases without a message',
    file: 'lua/locks/release-reentrant.lua',
    find: "redis.call('PUBLISH', KEYS[2], ARGV[1])\n",
    replace: '',
    red: clause('redis-reentrant', 'sends nothing while it waits: the release wakes it'),
  },
  {
    name: 'redis-fair forgets its queue: a free lock is granted to any waiter',
    file: 'lua/locks/acquire-fair.lua',
    find: "if redis.call('EXISTS', KEYS[1]) == 0 and (not head or head == ARGV[2]) then",
    replace: "if redis.call('EXISTS', KEYS[1]) == 0 then",
    red: race('dead-waiter', 'redis-fair', 'held: the ladder claims progress, which did not break'),
  },
  {
    name: 'redis-fair releases without a message',
    file: 'lua/locks/release-fair.lua',
    find: "if head then redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[1]) end\n",
    replace: '',
    red: clause('redis-fair', 'sends nothing while it waits: the release wakes it'),
  },
  ...skipsDeadMaster,
  {
    name: 'multilock does not roll back',
    file: 'src/service/locks/multilock.ts',
    find: 'if (!isComplete) for (const lease of leases) lease.release().catch(() => {});',
    replace: '',
    red: multilock(lastDown),
  },
  {
    name: 'multilock forgets a grant whose answer was lost',
    file: 'src/service/locks/shared/redisson-leases.ts',
    find: 'if (isSent && !outer) this.#freeInTurn(owned).catch(() => {});',
    replace: 'if (isSent && !outer && this.#answerMs < 0) this.#freeInTurn(owned).catch(() => {});',
    red: multilock('a grant whose answer was lost is released, as are the others'),
  },
  {
    name: 'a release of multilock ends at the first dead master',
    file: 'src/service/locks/multilock.ts',
    find: 'const results = await Promise.allSettled(leases.map(work));',
    replace: `const results: PromiseSettledResult<void>[] = [];
    for (const lease of leases) {
      const [result] = await Promise.allSettled([work(lease)]);
      results.push(result);
      if (result.status === 'rejected') break;
    }`,
    red: multilock('a release goes on past a dead master, names it, and nobody renews the lease'),
  },
  {
    name: 'multilock asks its masters in the order of its own configuration',
    file: 'src/service/locks/multilock.ts',
    find: '(addressOf(one) < addressOf(other) ? -1 : 1)',
    replace: '0 * (addressOf(one) + addressOf(other)).length',
    red: multilock('processes with the masters in another order do not wait for each other'),
  },
  {
    name: 'multilock is lost as soon as one master forgets it',
    file: 'src/service/locks/multilock.ts',
    find: 'parts.every(({ signal }) => signal.aborted)',
    replace: 'parts.some(({ signal }) => signal.aborted)',
    red: multilock(
      'one master that remembers keeps all others out; the lease is lost with the last',
    ),
  },
  {
    name: 'the first lease of multilock is not longer than the wait for the last',
    file: 'src/service/locks/multilock.ts',
    find: 'Math.max(2 * Math.ceil(waitMs), leaseMs)',
    replace: 'leaseMs',
    red: multilock('while it waits its leases last twice the wait, then as long as it asked for'),
  },
  {
    name: 'multilock does not set its leases after the wait',
    file: 'src/service/locks/multilock.ts',
    find: 'async (lease) => lease.renew?.(leaseMs)',
    replace: 'async () => void leaseMs',
    red: multilock('while it waits its leases last twice the wait, then as long as it asked for'),
  },
  {
    name: 'a lease is renewed for any owner',
    file: 'lua/locks/renew-reentrant.lua',
    find: "if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end\n",
    replace: '',
    red: multilock('a lease that another owner has by now is not renewed, and is lost'),
  },
  {
    name: 'an owner shares a lease that expired during a stall',
    file: 'src/service/locks/shared/reentrant.ts',
    find: ' && own.lease.remainingMs() > 0',
    replace: '',
    red: multilock('a lease inside another is a new one when the outer one expired during a stall'),
  },
  {
    name: 'redlock is content with one master',
    file: 'src/service/locks/redlock.ts',
    find: 'new RedlockRound(masters, ',
    replace: 'new RedlockRound(masters.slice(0, 1), ',
    red: {
      file: 'test/integration/redlock.test.ts',
      test: 'redlock · two of three masters down · refuses with the count, and leaves nothing behind',
    },
  },
  {
    name: 'redlock counts a dead master as one that granted the lock',
    file: 'src/service/locks/shared/redlock-round.ts',
    find: '      settle(error, result);',
    replace: '      settle(null, error ? 1 : result);',
    red: stopMasters('redlock, 2 of 3 stopped: sold '),
  },
  {
    name: 'redlock ignores the drift of clocks',
    file: 'src/service/locks/redlock.ts',
    find: 'leaseMs - elapsedMs - driftMs',
    replace: 'leaseMs - elapsedMs - 0 * driftMs',
    red: {
      file: 'test/integration/redlock.test.ts',
      test: 'redlock · a lease is shorter than its keys, by the drift that clocks may have',
    },
  },
  {
    name: 'redlock waits for every master, as its package does',
    file: 'src/service/locks/shared/redlock-round.ts',
    find: ' || Math.max(this.#yes, this.#no) >= this.#majority',
    replace: '',
    red: redlock(
      'redlock · one of three masters hung · no acquire, renewal or release waits for it',
    ),
  },
  {
    name: 'redlock has no limit for a master',
    file: 'src/service/locks/shared/redlock-round.ts',
    find: 'this.#giveUp(this.#silent)',
    replace: 'void this.#silent',
    red: redlock(
      'redlock · two of three masters hung · refuses after its limit, with the numbers, and leaves nothing behind',
    ),
  },
  {
    name: 'redlock trusts the clock of the day',
    file: 'src/service/locks/redlock.ts',
    find: 'if (lock && validMs > 0)',
    replace: 'if (lock && elapsedMs >= 0)',
    red: redlock(
      'redlock · a lock that is granted after its lease is released and not returned, when the clock of the day stands still',
    ),
  },
  {
    name: 'redlock gives up masters whose answers have arrived',
    file: 'src/service/locks/shared/redlock-round.ts',
    find: 'setImmediate(() => this.#giveUp(this.#silent))',
    replace: 'this.#giveUp(this.#silent)',
    red: redlock('redlock · answers that arrived while the event loop stood still count'),
  },
  {
    name: 'a renewal that failed does not lose the lease',
    file: 'src/service/locks/shared/renewable-lease.ts',
    find: 'expiry.lose(lost);',
    replace: '',
    red: redlock('redlock · a renewal that no majority confirms loses the lease: its key is gone'),
  },
  {
    name: 'fenced gives MySQL no fence before its commit',
    file: 'src/service/inventory/fenced-insert.ts',
    find: 'await checkFence(db, resourceOf(scope, order), fence);',
    replace: 'void [checkFence, resourceOf, scope, order, db];',
    red: race('paused-holder', 'fenced', 'violated: one-order-per-user'),
  },
  {
    name: 'fenced lets the fence write that a newer grant has closed',
    file: 'src/service/connections/fences.ts',
    find: 'AND closed < ?',
    replace: 'AND closed <= ?',
    red: race('paused-holder', 'fenced', 'violated: one-order-per-user'),
  },
  {
    name: 'fenced checks its fence beside its transaction',
    file: 'src/service/inventory/fenced-insert.ts',
    find: 'await checkFence(db, resourceOf(scope, order), fence);',
    replace: 'await checkFence(await on.getConnection(), resourceOf(scope, order), fence);',
    red: {
      file: 'test/integration/fences.test.ts',
      test: 'between a fence and its commit no newer lease is granted: the next sale sees the order',
    },
  },
  {
    name: 'fenced counts its fences in Redis, which can forget them',
    file: 'src/service/ladder/rungs.ts',
    find: 'lock: (c) => fencedLock(atomic(c), c.mysql(), endlessLock(c)),',
    replace: `lock: (c) =>
      c.config.PORT > 0
        ? fencedByRedisLock(atomic(c), c.redis('lock'), c.mysql(), endlessLock(c))
        : fencedLock(atomic(c), c.mysql(), endlessLock(c)),`,
    red: {
      file: 'test/integration/fences.test.ts',
      test: 'a lease has a larger fence than the one before it, also when Redis has lost its data',
    },
  },
  {
    name: 'unique-rail sells without the unique key',
    file: 'src/service/inventory/shared/sql-sale.ts',
    find: 'hasRails(voucher) ? 1 : null',
    replace: 'hasRails(voucher) ? null : null',
    red: {
      file: 'test/long/stale-holder.test.ts',
      test: 'paused-holder on unique-rail overlaps, and one order stays: MySQL refuses the other write, and it is counted',
      says: 'violated: one-order-per-user',
    },
  },
  {
    name: 'zookeeper watches its own node instead of the one before it',
    file: 'src/service/locks/shared/zookeeper-queue.ts',
    find: '{before}`;',
    replace: '{before && this.#name}`;',
    red: clause('zookeeper', 'sends nothing while it waits: the release wakes it'),
  },
  {
    name: 'zookeeper does not sort its queue by number',
    file: 'src/service/locks/shared/zookeeper-queue.ts',
    find: 'names.toSorted((one, other) => numberOf(one) - numberOf(other));',
    replace: 'names.toSorted(() => numberOf("0"));',
    red: clause('zookeeper', 'never lets critical sections of several processes overlap'),
  },
  {
    name: 'zookeeper makes nodes that do not end with their session',
    file: 'src/service/connections/zookeeper-nodes.ts',
    find: 'CreateMode[name]',
    replace: "CreateMode[name === 'PERSISTENT' ? name : 'PERSISTENT_SEQUENTIAL']",
    red: clause('zookeeper', 'is free after its owner died, with the default lease'),
  },
  {
    name: 'zookeeper-latch looks again after it has made its latch',
    file: 'src/service/locks/zookeeper-latch.ts',
    find: 'latch = new AbortController();\n',
    replace: `latch = new AbortController();
    if (!(await exists(session, path))) return true;\n`,
    red: race(
      'latch-after-exists',
      'zookeeper-latch',
      'held: the ladder claims progress, which did not break',
    ),
  },
  {
    name: 'a message that comes while nobody waits is forgotten',
    file: 'src/service/locks/shared/release-notifications.ts',
    find: 'if (first) first();\n  else channel.pending = true;',
    replace: 'if (first) first();',
    red: {
      file: 'test/integration/release-notifications.test.ts',
      test: 'a message that comes while nobody waits wakes the next one to wait',
    },
  },
  {
    name: 'a waiter that fails after its message keeps it',
    file: 'src/service/locks/shared/release-notifications.ts',
    find: 'subscription.handOver(); // This waiter may have been notified, and cannot use it.',
    replace: '',
    red: {
      file: 'test/integration/release-notifications.test.ts',
      test: 'a waiter that fails after its message gives the message to the next one',
    },
  },
  {
    name: 'redis-atomic counts its lease from the answer',
    file: 'src/service/locks/shared/lost-answer.ts',
    find: 'leaseMs - (performance.now() - askedAt)',
    replace: 'leaseMs + 0 * askedAt',
    red: {
      file: 'test/integration/lease-start.test.ts',
      test: 'redis-atomic counts its lease from the request, and not from the late answer',
    },
  },
  {
    name: 'redis-reentrant counts its lease from the answer',
    file: 'src/service/locks/shared/redisson-leases.ts',
    find: 'ownership.validFrom(askedAt, terms.leaseMs);',
    replace: 'ownership.validFrom(performance.now() + 0 * askedAt, terms.leaseMs);',
    red: {
      file: 'test/integration/lease-start.test.ts',
      test: 'redis-reentrant counts its lease from the request, and not from the late answer',
    },
  },
  {
    name: 'redis-fair does not shorten the turns behind a grant',
    file: 'lua/locks/acquire-fair.lua',
    find: "redis.call('ZINCRBY', KEYS[3], -turn, other)",
    replace: "redis.call('ZINCRBY', KEYS[3], 0, other)",
    red: {
      file: 'test/integration/fair.test.ts',
      test: 'a grant, and a waiter that leaves, make the turns behind one turn earlier',
    },
  },
  {
    name: 'redis-fair does not shorten the turns behind a waiter that leaves',
    file: 'lua/locks/leave-fair.lua',
    find: "if is_behind then redis.call('ZINCRBY', KEYS[3], -tonumber(ARGV[2]), other) end",
    replace: "if is_behind then redis.call('ZINCRBY', KEYS[3], 0, other) end",
    red: {
      file: 'test/integration/fair.test.ts',
      test: 'a grant, and a waiter that leaves, make the turns behind one turn earlier',
    },
  },
  {
    name: 'a session of ZooKeeper is valid from the answer on',
    file: 'src/service/connections/zookeeper-session.ts',
    find: 'this.#validUntil = sentAt + Math',
    replace: 'this.#validUntil = performance.now() + 0 * sentAt + Math',
    red: {
      file: 'test/integration/lease-start.test.ts',
      test: 'a session of ZooKeeper is valid from its request on, and not from the late answer',
    },
  },
];
