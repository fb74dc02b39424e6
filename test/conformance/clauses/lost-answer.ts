import { ask, askUntilGranted, outcomeOf, release, within } from '../ask.ts';
import { broken, type Clause, duration, held, notKnown } from '../clause.ts';
import { waitMs } from '../subject.ts';

const leaseMs = 1_500;
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
