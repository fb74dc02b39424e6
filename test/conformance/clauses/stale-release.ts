import { ask, outcomeOf, release } from '../ask.ts';
import { broken, type Clause, held, notKnown, skipped } from '../clause.ts';

const leaseMs = 10_000;

/** The keys of the first owner expire by force; the second acquires; then the first releases. */
export const staleRelease: Clause = {
  name: 'stale release',
  head: 'stale',
  proves: 'A release after the lease expired does not delete the key of the next owner.',
  brokenBy: ['deletes-next-key'],
  async run(subject, field) {
    const { masters } = field;
    const [one, other] = await field.contenders(subject, { leaseMs }, 2);
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
