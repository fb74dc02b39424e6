import { setTimeout as sleep } from 'node:timers/promises';
import { ask, outcomeOf, release } from '../ask.ts';
import { broken, type Clause, duration, held, notKnown, skipped } from '../clause.ts';
import type { Field } from '../field.ts';
import type { Grant } from '../subject.ts';

const leaseMs = 1_500;
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
