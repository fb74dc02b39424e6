import { broken, type Clause, duration, held, notKnown } from '../clause.ts';
import { contend, crowdSize } from './crowd.ts';

export const mutualExclusion: Clause = {
  name: 'mutual exclusion',
  head: 'excl',
  proves: 'Twenty contenders want the lock at once, and it has one owner at a time.',
  async run(subject, field) {
    const crowd = await contend(subject, field, { sectionMs: 10, limitMs: 15_000 });
    const { waitsMs, mostOwners, overlapMs } = crowd;
    if (mostOwners > 1) return broken(`${mostOwners} owners at once, for ${duration(overlapMs)}`);
    if (waitsMs.length < 2) return notKnown(`${waitsMs.length} of ${crowdSize} ever owned it`);
    return held(`${waitsMs.length} owners, one after the other`);
  },
};
