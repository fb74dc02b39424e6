/** Finds the highest rate that is good, and measures some rates above it. */

export interface RateStep {
  readonly rate: number;
  readonly isGood: boolean;
}

export interface RateSearch<Step> {
  /** The highest rate that was good, and good again when it was repeated. Null: none was. */
  readonly best: Step | null;
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

export async function searchRate<Step extends RateStep>(
  measure: (rate: number) => Promise<Step>,
  { first, least, most }: RateLimits,
): Promise<RateSearch<Step>> {
  const steps: Step[] = [];
  const isGood = async (rate: number): Promise<boolean> => {
    const step = await measure(Math.round(rate));
    steps.push(step);
    return step.isGood;
  };
  /** A hiccup of the machine is no knee: a rate that is not good is measured again. */
  const isGoodInTwo = async (rate: number) => (await isGood(rate)) || (await isGood(rate));

  let good = 0;
  let bad = first;
  while (bad <= most && (await isGoodInTwo(bad))) [good, bad] = [bad, bad * growth];
  if (bad <= most) await isGood(bad * beyond);
  while (good === 0 && bad / growth >= least) {
    if (await isGood(bad / growth)) good = bad / growth;
    else bad /= growth;
  }
  while (good > 0 && bad / good > precision) {
    const between = Math.sqrt(good * bad);
    if (await isGood(between)) good = between;
    else bad = between;
  }
  return { best: await confirmed(steps, isGood), steps };
}

/** One good measurement can be luck: the highest good rate must be good again, or the next one. */
async function confirmed<Step extends RateStep>(
  steps: readonly Step[],
  isGood: (rate: number) => Promise<boolean>,
): Promise<Step | null> {
  const rates = new Set(steps.filter((step) => step.isGood).map(({ rate }) => rate));
  for (const rate of [...rates].sort((one, other) => other - one))
    if (await isGood(rate)) return steps.at(-1) ?? null;
  return null;
}
