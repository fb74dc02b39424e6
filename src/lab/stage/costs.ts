/** What each load and each fault of an experiment cost its buyers. Pure. */
import type { RefusalReason } from '../../service/domain.ts';
import { grouped } from './counts.ts';
import type { BuyerAnswer } from './events.ts';
import type { Table } from './result.ts';
import { type LoadCost, type Mark, type Span, spansOf } from './seconds.ts';

export interface AnsweredAt {
  readonly atMs: number;
  readonly attempt: BuyerAnswer;
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

/** A terminal shows no more rows, and a longer table tells nobody anything. */
const terminalRowsMax = 24;
const rowsMax = 200;
const none = '–';

/**
 * @param lost the ids of accepted orders that are nowhere; without it, nobody has looked
 * @returns undefined where no fault met a load, and where too many did
 */
export function faultTable(
  { answers, marks }: { readonly answers: readonly AnsweredAt[]; readonly marks: readonly Mark[] },
  lost?: readonly string[],
): Table | undefined {
  const met = spansOf(marks, 'fault', Number.POSITIVE_INFINITY).flatMap((fault) =>
    loadsDuring(fault, marks).map((load) => ({ fault, load })),
  );
  if (met.length === 0 || met.length > rowsMax) return undefined;
  const hasLoads = new Set(met.map(({ load }) => load)).size > 1;
  return {
    title: { en: 'What each fault cost', zh: '每个故障的代价' },
    ...(met.length > terminalRowsMax && { isWide: true }),
    head: [
      faultHead,
      ...(hasLoads ? [loadHead] : []),
      ...columns,
      ...(lost ? [lostHead] : []),
      back,
    ],
    legend: { ...legend, ...(lost && lostLegend), ...backLegend },
    rows: met.map(({ fault, load }) => [
      { short: shortName(fault.name), full: fault.name },
      ...(hasLoads ? [load] : []),
      ...cellsOf(
        fault,
        answers.filter((each) => each.load === undefined || each.load === load),
        lost && new Set(lost),
      ),
    ]),
  };
}

const faultHead = { en: 'fault', zh: '故障' };
const loadHead = { en: 'load', zh: '压测' };
const columns = [
  { en: 'from s', zh: '开始 s' },
  { en: 'to s', zh: '结束 s' },
  { en: 'sold', zh: '受理' },
  { en: 'refused', zh: '拒绝' },
  '?',
];
const lostHead = { en: 'lost', zh: '丢失' };
const back = { en: 'back ms', zh: '恢复 ms' };

const legend = {
  'to s': {
    en: 'when it was mended; both are seconds of the load',
    zh: '修复的时刻；两个时刻都从压测开始算起',
  },
  sold: {
    en: 'answers that came meanwhile: accepted; then refused, and ? for unknown. A purchase that was sent before may be answered meanwhile',
    zh: '故障期间收到的响应：受理；其后是拒绝，? 是未知。故障之前发出的请求也可能在此期间得到响应',
  },
};
const lostLegend = {
  lost: {
    en: 'orders that were accepted meanwhile, and are nowhere now',
    zh: '其间受理、现在哪里都找不到的订单',
  },
};
const backLegend = {
  [back.en]: {
    en: 'from its end to the next sale; – there was none',
    zh: '从故障结束到下一次成交；– 再没有成交',
  },
};

const shortName = (name: string): string => (name.length > 28 ? `${name.slice(0, 27)}…` : name);

const loadsDuring = ({ fromMs, toMs }: Span, marks: readonly Mark[]): string[] => {
  const loads = spansOf(marks, 'load', Number.POSITIVE_INFINITY);
  const during = loads.filter((load) => load.fromMs <= toMs && load.toMs >= fromMs);
  return [...new Set(during.map(({ name }) => name))];
};

function cellsOf(
  { fromMs, toMs }: Span,
  answers: readonly AnsweredAt[],
  lost?: ReadonlySet<string>,
): string[] {
  const meanwhile = answers.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  const answered = (wanted: string) =>
    meanwhile.filter(({ attempt }) => attempt.outcome === wanted);
  const sold = answered('accepted').flatMap(({ attempt: { orderId = [] } }) => orderId);
  const sales = answers.filter(
    ({ atMs, attempt }) => attempt.outcome === 'accepted' && atMs >= toMs,
  );
  const backMs = sales.reduce((first, { atMs }) => Math.min(first, atMs), Number.POSITIVE_INFINITY);
  return [
    seconds(fromMs),
    seconds(toMs),
    ...['accepted', 'refused', 'unknown'].map((outcome) => grouped(answered(outcome).length)),
    ...(lost ? [String(new Set(sold.filter((id) => lost.has(id))).size)] : []),
    Number.isFinite(backMs) ? String(Math.round(backMs - toMs)) : none,
  ];
}

const seconds = (ms: number): string => (Number.isFinite(ms) ? (ms / 1_000).toFixed(1) : none);
