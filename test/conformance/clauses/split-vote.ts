import { setTimeout as sleep } from 'node:timers/promises';
import { ask, askUntilGranted, release } from '../ask.ts';
import { broken, type Clause, duration, held, notKnown } from '../clause.ts';
import type { Masters } from '../masters.ts';
import { type Contender, waitMs } from '../subject.ts';

/** The way to another data centre. */
const far = { type: 'latency', stream: 'upstream', latencyMs: 20 } as const;
/** The wait of a caller, and one second more. */
const limitMs = waitMs + 1_000;
const leaseMs = 10_000;

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
