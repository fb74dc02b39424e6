/** One master does not answer: what a caller gets, and when. */
import { ask, outcomeOf, release } from '../ask.ts';
import { broken, type Clause, duration, type Finding, held, sentenceOf } from '../clause.ts';
import type { Field } from '../field.ts';
import { type Subject, waitMs } from '../subject.ts';

/** Nobody else wants the lock, so a majority must grant it at once. */
const grantLimitMs = 1_000;
/** The wait that the caller allowed, and one second more. */
const errorLimitMs = waitMs + 1_000;
/** Then the measurement ends. */
const mostMs = 6_000;
const leaseMs = 10_000;

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

async function stillGranted(asked: Awaited<ReturnType<typeof ask>>, state: string) {
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

function failsInTime(asked: Awaited<ReturnType<typeof ask>>, state: string): Finding {
  const limit = `(limit ${duration(errorLimitMs)})`;
  if (asked.kind === 'silent')
    return broken(`no answer after ${duration(asked.ms)} with a ${state} master ${limit}`);
  if (asked.kind === 'granted') return broken(`granted by a ${state} master`);
  if (asked.kind === 'refused')
    return broken(`the same answer as for a lock that is taken, with a ${state} master`);
  if (asked.ms > errorLimitMs)
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
