/** The faults of a lock storm, in an order and at moments that the seed decides. */
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** In milliseconds. */
export const times = {
  /** Of every lease: the watchdog renews it each third of this. */
  lease: 3_000,
  /** How long one answer of Redis may take. */
  answer: 500,
  /** The lanes of some keys ask together, this far apart. */
  bell: 1_500,
} as const;

/**
 * What a lease that is renewed in time has left, at any moment at which its process runs. A shorter
 * stop loses no lease.
 */
export const leftMsMin = (times.lease * 2) / 3 - times.answer - 250;

const kinds = [
  'kill-clients',
  'kill-subscribers',
  'kill-clients',
  'flush-scripts',
  'stop-shortly',
  'stop-past-the-lease',
  'stop-past-the-lease',
  'kill-contender',
  'restart-redis',
] as const;
/** So many steps contain every kind of fault. */
export const roundLength = kinds.length;
export type StormFault = (typeof kinds)[number];

export interface Step {
  readonly fault: StormFault;
  readonly afterMs: number;
  readonly forMs: number;
  /** Chooses the victim: the remainder of its division by the number of candidates. */
  readonly pick: number;
}

/** Every kind comes once in each round, in another order. It does not end. */
export function* stormPlan(seed: number): Generator<Step> {
  const generator = xoroshiro128plus(seed);
  const between = (least: number, most: number) => uniformInt(generator, least, most);
  for (;;) {
    const round = [...kinds];
    while (round.length > 0) {
      const [fault] = round.splice(between(0, round.length - 1), 1);
      if (fault) yield { fault, ...lengthsOf(fault, between), pick: between(0, 1_000_000) };
    }
  }
}

function lengthsOf(fault: StormFault, between: (least: number, most: number) => number) {
  const afterMs = between(50, 800);
  if (fault === 'stop-shortly') return { afterMs, forMs: between(100, leftMsMin / 2) };
  if (fault === 'stop-past-the-lease')
    return { afterMs, forMs: between(times.lease * 1.1, times.lease * 1.6) };
  return { afterMs, forMs: between(0, 300) };
}
