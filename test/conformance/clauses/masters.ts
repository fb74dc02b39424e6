/** One master does not answer, or does not write: what a caller gets, and when. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Asked, ask, askUntilGranted, outcomeOf, release } from '../ask.ts';
import {
  broken,
  type Clause,
  duration,
  type Finding,
  held,
  notKnown,
  sentenceOf,
} from '../clause.ts';
import type { Field, Masters } from '../field.ts';
import { type Contender, type Subject, waitMs } from '../subject.ts';

const leaseMs = 10_000;
/** The wait that a caller allows, and one second more. */
const limitMs = waitMs + 1_000;

/** Nobody else wants the lock, so a majority must grant it at once. */
const grantLimitMs = 1_000;
/** Then the measurement ends. */
const mostMs = 6_000;

/** The last of three masters, or the only one. */
const missingPlace = ({ needs }: Subject): number => (needs === 'one' ? 0 : 2);

async function withoutAMaster(
  subject: Subject,
  field: Field,
  state: 'dead' | 'hung',
): Promise<Finding> {
  const contender = await field.contender(subject, { leaseMs });
  const place = missingPlace(subject);
  if (state === 'dead') await field.masters.kill(place);
  else await field.masters.pause(place);
  return subject.needs === 'majority'
    ? stillGranted(await ask(contender, 'missing', mostMs), state)
    : failsInTime(await ask(contender, 'missing', mostMs), state);
}

async function stillGranted(asked: Asked, state: string) {
  const limit = `(limit ${duration(grantLimitMs)})`;
  const one = `one ${state} master of three`;
  if (asked.kind === 'silent')
    return broken(`no answer after ${duration(asked.ms)} with ${one} ${limit}`);
  if (asked.kind !== 'granted')
    return broken(`acquire ${outcomeOf(asked)} with ${one}, although two are a majority`);
  const released = await release(asked.grant, mostMs);
  if (asked.ms > grantLimitMs)
    return broken(`acquire took ${duration(asked.ms)} with ${one} ${limit}`);
  if (!released.isDone)
    return broken(`release had not ended after ${duration(released.ms)} with ${one} ${limit}`);
  if (released.ms > grantLimitMs)
    return broken(`release took ${duration(released.ms)} with ${one} ${limit}`);
  return held(`acquired in ${duration(asked.ms)}, released in ${duration(released.ms)}`);
}

function failsInTime(asked: Asked, state: string): Finding {
  const limit = `(limit ${duration(limitMs)})`;
  if (asked.kind === 'silent')
    return broken(`no answer after ${duration(asked.ms)} with a ${state} master ${limit}`);
  if (asked.kind === 'granted') return broken(`granted by a ${state} master`);
  if (asked.kind === 'refused')
    return broken(`the same answer as for a lock that is taken, with a ${state} master`);
  if (asked.ms > limitMs)
    return broken(`the error took ${duration(asked.ms)} with a ${state} master ${limit}`);
  return held(`${sentenceOf(asked.error)} after ${duration(asked.ms)}`);
}

export const deadMaster: Clause = {
  name: 'dead master',
  head: 'dead',
  proves:
    'With a killed master, a majority still grants; any other lock fails with an error, in time.',
  run: (subject, field) => withoutAMaster(subject, field, 'dead'),
};

export const hungMaster: Clause = {
  name: 'hung master',
  head: 'hung',
  proves: 'With a master that is stopped (SIGSTOP), the same, in the same time.',
  run: (subject, field) => withoutAMaster(subject, field, 'hung'),
};

/** The way to another data centre. */
const far = { type: 'latency', stream: 'upstream', latencyMs: 20 } as const;

/**
 * The third master refuses writes, and each contender is near to another one of the other two: so
 * each gets one vote of three.
 */
export const splitVote: Clause = {
  name: 'split vote',
  head: 'tie',
  proves: `Two contenders tie on the masters; both get the lock within ${duration(limitMs)}, and nothing stays locked.`,
  about: ['majority'],
  async run(subject, field) {
    const [one, other] = await Promise.all([field.proxies(), field.proxies()]);
    const pair = [
      await field.contender(subject, { leaseMs }, one),
      await field.contender(subject, { leaseMs }, other),
    ];
    const later = await field.contender(subject, { leaseMs });
    await field.masters.refuseWrites(2);
    await one[1]?.setToxics([far]);
    await other[0]?.setToxics([far]);
    const ties = countTies(field.masters);
    const times = await Promise.all(pair.map(acquireOnce));
    const count = await ties.stop();
    const without = times.filter((ms) => ms === null).length;
    if (without > 0)
      return broken(
        `${without} of 2 did not get it within ${duration(limitMs)} after ${count} ties`,
      );
    if (count === 0) return notKnown('the two never had one vote each');
    const after = await ask(later, 'tie', 1_000);
    if (after.kind !== 'granted') return broken('it stays locked after both have released it');
    await release(after.grant, 1_000);
    return held(`both got it, the second after ${duration(Math.max(...times.map(Number)))}`);
  },
};

async function acquireOnce(contender: Contender): Promise<number | null> {
  const asked = await askUntilGranted(contender, 'tie', limitMs);
  if (asked.kind !== 'granted') return null;
  await release(asked.grant, limitMs);
  return asked.ms;
}

/** Looks again and again whether the first two masters have different owners of the same key. */
function countTies(masters: Masters): { readonly stop: () => Promise<number> } {
  let isOn = true;
  let ties = 0;
  let wasTie = false;
  const look = async () => {
    while (isOn) {
      const keys = await masters.keys();
      const isTie = [...keys].some(([name, value]) => {
        const twin = keys.get(name.replace(/^0/, '1'));
        return name.startsWith('0') && twin !== undefined && twin !== value;
      });
      if (isTie && !wasTie) ties += 1;
      wasTie = isTie;
      await sleep(2);
    }
  };
  const looking = look();
  return {
    stop: async () => {
      isOn = false;
      await looking;
      return ties;
    },
  };
}
