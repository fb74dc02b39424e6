/** Twenty contenders in four processes' worth of connections, each wants the lock once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { askUntilGranted, release } from '../ask.ts';
import { broken, type Clause, duration, held, notKnown } from '../clause.ts';
import type { Field } from '../field.ts';
import type { Contender, Subject } from '../subject.ts';

const crowdSize = 20;
const connections = 4;
const leaseMs = 6_000;
const limitMs = 15_000;

interface Crowd {
  /** How long each waited that got it, in milliseconds. */
  readonly waitsMs: readonly number[];
  /** How long two or more owned it at once, in all. */
  readonly overlapMs: number;
  readonly mostOwners: number;
}

async function contend(subject: Subject, field: Field, sectionMs: number): Promise<Crowd> {
  const contenders = await field.contenders(subject, { leaseMs }, connections);
  const owners = new Owners();
  const one = async (contender: Contender): Promise<number | null> => {
    const asked = await askUntilGranted(contender, 'crowd', limitMs);
    if (asked.kind !== 'granted') return null;
    owners.enter();
    await sleep(sectionMs);
    owners.leave();
    await release(asked.grant, limitMs);
    return asked.ms;
  };
  const each = Array.from({ length: crowdSize }, (_, number) =>
    one(contenders[number % connections] as Contender),
  );
  const waitsMs = (await Promise.all(each)).filter((ms) => ms !== null);
  return { waitsMs, overlapMs: owners.overlapMs, mostOwners: owners.most };
}

class Owners {
  overlapMs = 0;
  most = 0;
  #count = 0;
  #overlapSince = 0;

  enter(): void {
    this.#count += 1;
    this.most = Math.max(this.most, this.#count);
    if (this.#count === 2) this.#overlapSince = performance.now();
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count === 1) this.overlapMs += performance.now() - this.#overlapSince;
  }
}

export const mutualExclusion: Clause = {
  name: 'mutual exclusion',
  head: 'excl',
  proves: 'Twenty contenders want the lock at once, and it has one owner at a time.',
  async run(subject, field) {
    const { waitsMs, mostOwners, overlapMs } = await contend(subject, field, 10);
    if (mostOwners > 1) return broken(`${mostOwners} owners at once, for ${duration(overlapMs)}`);
    if (waitsMs.length < 2) return notKnown(`${waitsMs.length} of ${crowdSize} ever owned it`);
    return held(`${waitsMs.length} owners, one after the other`);
  },
};

export const starvation: Clause = {
  name: 'no starvation',
  head: 'starv',
  proves: `Each of ${crowdSize} contenders that ask again gets the lock within ${duration(limitMs)}.`,
  async run(subject, field) {
    const { waitsMs } = await contend(subject, field, 25);
    const slowest = duration(Math.max(0, ...waitsMs));
    const got = `${waitsMs.length} of ${crowdSize} got it`;
    if (waitsMs.length < crowdSize)
      return broken(`${got} within ${duration(limitMs)}; the others never did`);
    return held(`${got}, the last after ${slowest}`);
  },
};
