/** What each load of an experiment cost its buyers. Pure. */
import type { RefusalReason } from '../../service/domain.ts';
import type { BuyerAnswer } from './events.ts';
import type { LoadCost, Mark } from './seconds.ts';

export interface AnsweredAt {
  readonly atMs: number;
  readonly attempt: BuyerAnswer;
  /** Its name. */
  readonly load: string | undefined;
}

/** The sale itself refused them: more servers would not have sold more. */
const ofTheSale: readonly (RefusalReason | 'unknown-voucher')[] = [
  ...(['sold-out', 'already-ordered', 'not-started', 'ended', 'unknown-voucher'] as const),
];

/** Single purchases beside a load are no load: how long they did not buy says nothing. */
export function loadCosts(answers: readonly AnsweredAt[], marks: readonly Mark[]): LoadCost[] {
  const byLoad = Map.groupBy(answers, ({ load = '' }) => load);
  if (byLoad.size > 1) byLoad.delete('');
  return [...byLoad].map(([load, own]) => {
    const count = (wanted: string) =>
      own.filter(({ attempt }) => attempt.outcome === wanted).length;
    const starts = marks.filter(
      ({ of, isStart, name }) => of === 'load' && isStart && (load === '' || name === load),
    );
    const counts = { accepted: count('accepted'), refused: count('refused') };
    return { load, ...counts, unknown: count('unknown'), withoutSale: longestGap(own, starts) };
  });
}

/**
 * Between two sales; also before the first one and after the last one, as far as buyers were
 * refused, or learned nothing, although the sale had something for them.
 */
function longestGap(answers: readonly AnsweredAt[], starts: readonly Mark[]) {
  const wanting = answers.filter(isWanting).toSorted((one, other) => one.atMs - other.atMs);
  const lastIndex = wanting.length - 1;
  const moments = wanting.filter((each, at) => isSale(each) || at === 0 || at === lastIndex);
  let longest: LoadCost['withoutSale'] = null;
  for (const [index, { atMs: toMs }] of moments.entries()) {
    const fromMs = moments[index - 1]?.atMs ?? toMs;
    const isOneLoad = !starts.some(({ atMs }) => atMs > fromMs && atMs <= toMs);
    if (!longest || (isOneLoad && toMs - fromMs > longest.toMs - longest.fromMs))
      longest = { fromMs, toMs };
  }
  return longest && { fromMs: Math.round(longest.fromMs), toMs: Math.round(longest.toMs) };
}

const isSale = ({ attempt }: AnsweredAt): boolean => attempt.outcome === 'accepted';
const isWanting = ({ attempt: { outcome, reason = '' } }: AnsweredAt): boolean =>
  outcome !== 'refused' || !ofTheSale.some((each) => each === reason);
