import { waitUntil } from '../../../src/lab/environment/wait-until.ts';
import { ask, askUntilGranted, outcomeOf, release, within } from '../ask.ts';
import { broken, type Clause, duration, held, notKnown, skipped } from '../clause.ts';

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
