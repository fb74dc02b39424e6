/** A lease ends before somebody knows: its owner, Redis, or the caller that was not answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../src/lab/environment/wait-until.ts';
import { ask, askUntilGranted, outcomeOf, release, within } from '../ask.ts';
import { broken, type Clause, duration, held, notKnown, skipped } from '../clause.ts';
import type { Field } from '../field.ts';
import { type Grant, waitMs } from '../subject.ts';

const leaseMs = 1_500;

/** For the late answers to be read. */
const settleMs = 1_500;
const keepAnswers = { type: 'keep', stream: 'downstream' } as const;

/** Redis grants the lock, and its answers come after the lease is over and another one owns it. */
export const lateGrant: Clause = {
  name: 'late grant',
  head: 'late',
  proves: 'A lock whose lease ended before Redis answered is not handed out.',
  async run(subject, field) {
    const proxies = await field.proxies();
    // The lock's own check is wanted here, and not the limit of one answer.
    const slow = await field.contender(subject, { leaseMs, answerMs: 10_000 }, proxies);
    const quick = await field.contender(subject, { leaseMs: 10_000 });
    const { masters } = field;
    const before = await masters.countKeys();
    const isGranted = async () => (await masters.countKeys()) > before;
    for (const proxy of proxies) await proxy.setToxics([keepAnswers]);
    const askedAt = performance.now();
    const asking = ask(slow, 'late', 20_000);
    await waitUntil('Redis to grant the lock', 2_000, isGranted);
    if ((await masters.keys()).size === 0) return skipped('its keys do not expire');
    await waitUntil('its key to expire', 10_000, async () => (await masters.keys()).size === 0);
    const other = await askUntilGranted(quick, 'late', 5_000);
    if (other.kind !== 'granted') return notKnown('nobody else got the lock after its lease');
    for (const proxy of proxies) await proxy.setToxics([]);
    const asked = await within(settleMs, asking, () => null);
    const lateMs = performance.now() - askedAt - leaseMs;
    await release(other.grant, 2_000);
    if (asked?.kind === 'granted')
      return broken(`handed out ${duration(lateMs)} after its lease ended, beside another owner`);
    return held(
      asked ? `the late call ${outcomeOf(asked)}` : 'the late call waits for the next lease',
    );
  },
};

/** The keys of the first owner expire by force; the second acquires; then the first releases. */
export const staleRelease: Clause = {
  name: 'stale release',
  head: 'stale',
  proves: 'A release after the lease expired does not delete the key of the next owner.',
  brokenBy: ['deletes-next-key'],
  async run(subject, field) {
    const { masters } = field;
    const [one, other] = await field.contenders(subject, { leaseMs: 10_000 }, 2);
    if (!one || !other) return notKnown('no contenders');
    const first = await ask(one, 'stale', 3_000);
    if (first.kind !== 'granted') return notKnown(`the first acquire ${outcomeOf(first)}`);
    if ((await masters.keys()).size === 0) return skipped('its keys do not expire');
    await masters.expireKeys();
    const second = await ask(other, 'stale', 5_000);
    if (second.kind !== 'granted') return notKnown(`the second acquire ${outcomeOf(second)}`);
    const before = await masters.keys();
    await release(first.grant, 3_000);
    const after = await masters.keys();
    const deleted = [...before].filter(([name, value]) => after.get(name) !== value).length;
    await release(second.grant, 3_000);
    if (before.size === 0) return notKnown('the second owner has no key');
    if (deleted > 0)
      return broken(`${deleted} of ${before.size} keys of the next owner were deleted`);
    return held(`the next owner kept its ${before.size === 1 ? 'key' : `${before.size} keys`}`);
  },
};

const lease = `(lease ${duration(leaseMs)})`;
const answerLimitMs = 6_000;
/** The lease, the longest pause between two tries of a package, and a second for the machine. */
const freeLimitMs = leaseMs + waitMs + 1_000;

/** Redis grants the lock on every master that is asked, and the answers are lost. */
export const lostAnswer: Clause = {
  name: 'lost answer',
  head: 'lost',
  proves: 'A grant whose answer was lost does not lock longer than its lease, nor for two owners.',
  brokenBy: ['key-stays', 'key-without-expiry'],
  async run(subject, field) {
    const proxies = await field.proxies();
    const unlucky = await field.contender(subject, { leaseMs }, proxies);
    const other = await field.contender(subject, { leaseMs });
    for (const proxy of proxies) await proxy.setToxics([{ type: 'swallow' }]);
    const first = await ask(unlucky, 'lost', answerLimitMs);
    if (proxies.every(({ state }) => state.toxics.length > 0))
      return notKnown('no answer was lost');
    if (first.kind === 'silent')
      return broken(`no answer to its caller after ${duration(first.ms)}`);
    const endedAt = performance.now();
    const asking = askUntilGranted(other, 'lost', freeLimitMs);
    if (first.kind === 'granted') {
      const early = await within(leaseMs / 3, asking, () => null);
      if (early?.kind === 'granted') return broken('both callers own it');
      await release(first.grant, 2_000);
    }
    const next = await asking;
    const after = `after the call ${outcomeOf(first)}`;
    if (next.kind !== 'granted')
      return broken(`still locked ${duration(performance.now() - endedAt)} ${after} ${lease}`);
    await release(next.grant, 2_000);
    return held(`the next owner had it ${duration(performance.now() - endedAt)} ${after}`);
  },
};

const lookMs = 25;
/** Some packages try a release again before they report it. */
const releaseLimitMs = 4_000;

/** The owner works on for two leases. A lock that was renewed then loses its key by force. */
export const expiryTold: Clause = {
  name: 'expiry told',
  head: 'told',
  proves:
    'An owner whose lease ended is told: by a signal, a callback, or an error of its release.',
  async run(subject, field) {
    const contender = await field.contender(subject, { leaseMs });
    const asked = await ask(contender, 'told', 3_000);
    if (asked.kind !== 'granted') return notKnown(`the acquire ${outcomeOf(asked)}`);
    if ((await field.masters.keys()).size === 0) return skipped('its keys do not expire');
    const isRenewed = await isThereAfter(field, 2 * leaseMs);
    if (isRenewed) await field.masters.expireKeys();
    const how = isRenewed ? 'renewed; then its key was removed' : 'not renewed';
    const goneAt = performance.now();
    const isTold = await isToldWithin(asked.grant, leaseMs);
    if (isTold) return held(`${how}; told after ${duration(performance.now() - goneAt)}`);
    const { error, isDone } = await release(asked.grant, releaseLimitMs);
    if (error !== undefined) return held(`${how}; told by the error of its release`);
    const end = isDone ? 'succeeded' : `had not ended after ${duration(releaseLimitMs)}`;
    return broken(`${how}; the owner was not told, and its release ${end}`);
  },
};

/** Ends as soon as there is no key. */
async function isThereAfter({ masters }: Field, ms: number): Promise<boolean> {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    if ((await masters.keys()).size === 0) return false;
    await sleep(lookMs);
  }
  return true;
}

async function isToldWithin(grant: Grant, ms: number): Promise<boolean> {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    if (grant.isLost()) return true;
    await sleep(lookMs);
  }
  return grant.isLost();
}
