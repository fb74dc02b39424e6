import { broken, type Clause, duration, held } from '../clause.ts';
import { contend, crowdSize } from './crowd.ts';

const limitMs = 15_000;

export const starvation: Clause = {
  name: 'no starvation',
  head: 'starv',
  proves: `Each of ${crowdSize} contenders that ask again gets the lock within ${duration(limitMs)}.`,
  async run(subject, field) {
    const { waitsMs } = await contend(subject, field, { sectionMs: 25, limitMs });
    const slowest = duration(Math.max(0, ...waitsMs));
    const got = `${waitsMs.length} of ${crowdSize} got it`;
    if (waitsMs.length < crowdSize)
      return broken(`${got} within ${duration(limitMs)}; the others never did`);
    return held(`${got}, the last after ${slowest}`);
  },
};
