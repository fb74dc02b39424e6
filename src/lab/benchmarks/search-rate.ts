/** Finds the highest rate that is good, and measures some rates above it. */

export interface RateStep {
  readonly rate: number;
  readonly isGood: boolean;
}

export interface RateSearch<Step> {
  /** The highest rate that was good in most of its measurements. Null: none was. */
  readonly best: number | null;
  /** In the order they were measured. */
  readonly steps: readonly Step[];
}

export interface RateLimits {
  readonly first: number;
  /** Below it, the search gives up. */
  readonly least: number;
  readonly most: number;
}

const growth = 1.5;
/** Past the knee, for the curve. */
const beyond = 1.25;
/** The search ends when the next higher rate, which is not good, is nearer than this. */
const precision = 1.1;

/** Two of at most three measurements decide: neither one hiccup nor luck is a knee. */
const majority = 2;

export async function searchRate<Step extends RateStep>(
  measure: (rate: number) => Promise<Step>,
  { first, least, most }: RateLimits,
): Promise<RateSearch<Step>> {
  const steps: Step[] = [];
  const isGood = async (rate: number): Promise<boolean> => {
    const step = await measure(rate);
    steps.push(step);
    return step.isGood;
  };
  const isSustained = async (rate: number): Promise<boolean> => {
    const counts = { good: 0, bad: 0 };
    while (counts.good < majority && counts.bad < majority)
      counts[(await isGood(rate)) ? 'good' : 'bad'] += 1;
    return counts.good === majority;
  };

  let good = 0;
  let bad = Math.round(first);
  while (bad <= most && (await isSustained(bad))) [good, bad] = [bad, Math.round(bad * growth)];
  if (bad <= most) await isGood(Math.round(bad * beyond));
  while (good === 0 && bad / growth >= least) {
    const lower = Math.round(bad / growth);
    if (await isSustained(lower)) good = lower;
    else bad = lower;
  }
  while (good > 0 && bad / good > precision) {
    const between = Math.round(Math.sqrt(good * bad));
    if (between === good || between === bad) break;
    if (await isSustained(between)) good = between;
    else bad = between;
  }
  return { best: good === 0 ? null : good, steps };
}
