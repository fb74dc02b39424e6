/**
 * Rungs of the ladder under one load: different users buy one hot voucher with stock for all, and
 * no work is added to a sale. The rungs take turns, so that other work of the machine hits all.
 */

import { circumstances, type Rung } from '../../service/ladder/rung.ts';
import { ladder, type RungName } from '../../service/ladder/rungs.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import { sumOfServers } from './cpu-by-role.ts';
import { faultsOfSale } from './faults-of-figures.ts';
import {
  acceptedColumn,
  faultsText,
  medianText,
  paragraph,
  rangeColumn,
  roundsText,
  targetsTable,
} from './figure-text.ts';
import {
  type Bench,
  conditionsOf,
  type LoadMeasurement,
  type MeasuredSale,
  measureSale,
  tellRound,
  warmingUp,
} from './measure.ts';
import {
  type ClosedBenchmarkResult,
  type JudgedTarget,
  judgeTarget,
  type Spread,
  spreadOf,
  spreadOfKnown,
} from './targets.ts';
import { type Answers, countAnswers } from './wrk.ts';

export interface RungFigures {
  readonly rung: RungName;
  readonly acceptedPerSecond: Spread;
  readonly recordedPerSecond: Spread;
  /** Of all answers, refusals too. */
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  /** Of all rounds, by code. */
  readonly refused: Answers;
  /** Refused answers as a share of all. */
  readonly refusedShare: number;
  /** Microseconds of all servers for each accepted order. Null is unknown. */
  readonly cpuPerOrder: Spread | null;
}

export interface RungBenchmark extends ClosedBenchmarkResult {
  readonly rounds: number;
  readonly rungs: readonly RungFigures[];
}

type SalesByRung = ReadonlyMap<RungName, readonly MeasuredSale[]>;

const warmUpSeconds = 1;

export async function benchmarkRungs(
  bench: Bench,
  rungs: readonly RungName[],
): Promise<RungBenchmark> {
  const { rounds, load } = bench;
  const sales = new Map<RungName, MeasuredSale[]>(rungs.map((rung) => [rung, []]));
  bench.progress(warmingUp);
  const short = { ...bench, load: { ...load, seconds: warmUpSeconds } };
  for (const rung of rungs) await measureSale(short, rung);
  for (let round = 1; round <= rounds; round++)
    for (const rung of rungs) {
      tellRound(bench, round, rung);
      sales.get(rung)?.push(await measureSale(bench, rung));
    }
  return {
    ...conditionsOf(bench),
    rungs: [...sales].map(([rung, all]) => figuresOfRung(rung, all)),
    otherWork: spreadOfKnown([...sales.values()].flat().map(({ purchase }) => purchase.otherWork)),
    targets: targetsOf(sales, rounds),
    faults: [...sales].flatMap(([rung, all]) =>
      all.flatMap((sale) => faultsOfSale(rung, sale, load.connections)),
    ),
  };
}

function figuresOfRung(rung: RungName, sales: readonly MeasuredSale[]): RungFigures {
  const spread = (figure: (sale: MeasuredSale) => number) => spreadOf(sales.map(figure));
  const answers = sumOf(sales.map(({ purchase }) => purchase.answers));
  const { accepted = 0, ...refused } = answers;
  return {
    rung,
    acceptedPerSecond: spread(({ acceptedPerSecond }) => acceptedPerSecond),
    recordedPerSecond: spread(({ recordedPerSecond }) => recordedPerSecond),
    p50Ms: spread(({ purchase }) => purchase.p50Ms),
    p99Ms: spread(({ purchase }) => purchase.p99Ms),
    refused,
    refusedShare: 1 - accepted / Math.max(1, countAnswers(answers)),
    cpuPerOrder: spreadOfKnown(sales.map((sale) => cpuPerOrder(sale.purchase, sale.accepted))),
  };
}

function sumOf(all: readonly Answers[]): Answers {
  const sum: Record<string, number> = {};
  for (const answers of all)
    for (const [code, count] of Object.entries(answers)) sum[code] = (sum[code] ?? 0) + count;
  return sum;
}

/** A refusal costs too: the accepted orders pay for it. */
export function cpuPerOrder({ cpu, answers }: LoadMeasurement, accepted: number): number | null {
  const sum = sumOfServers(cpu);
  return sum === null ? null : (sum * countAnswers(answers)) / accepted;
}

/** Shown by a rush alone: such a rung is fast because it does not protect. */
const isBrokenByRush = ({ breaks }: Rung): boolean =>
  breaks.some(({ under }) => circumstances[under] === 'rush');

/** Many orders are one write there, so it is no rung to compare a write for each order with. */
const writesManyAtOnce: readonly string[] = ['merged-commit'];

export const isCorrectOrderByOrder = (name: RungName): boolean => {
  const rung: Rung = ladder[name];
  return !rung.queue && !isBrokenByRush(rung) && !writesManyAtOnce.includes(name);
};

/** Of the rungs that were measured, each target compares two in the same rounds. */
function targetsOf(sales: SalesByRung, rounds: number): JudgedTarget[] {
  const rate = ({ acceptedPerSecond }: MeasuredSale) => acceptedPerSecond;
  const names = [...sales.keys()].filter(isCorrectOrderByOrder);
  const median = (name: RungName) => spreadOf((sales.get(name) ?? []).map(rate)).median;
  const best = names.toSorted((one, other) => median(other) - median(one))[0];
  const compare = comparing(sales, rounds);
  return [
    ...compare('lua-stream', best, 'accepted/s', rate, {
      atLeast: 20,
      because: 'twenty times as many as the best rung with a write for each order',
    }),
    ...compare('lua-stream', best, 'p99', ({ purchase }) => purchase.p99Ms, {
      atMost: 0.1,
      because: 'the claim of the course: a tenth of the answer time at the same load',
    }),
    ...compare('lua-stream', 'redis-reentrant', 'accepted/s', rate, {
      atLeast: 20,
      because: 'the headline of the course: from its lock around SQL to its script and stream',
    }),
    ...compare('merged-commit', 'stock-positive', 'accepted/s', rate, {
      atLeast: 8,
      because: 'one commit for many buyers must pay for the wait that it adds',
    }),
  ];
}

const comparing =
  (sales: SalesByRung, rounds: number) =>
  (
    name: string,
    beside: string | undefined,
    unit: string,
    figure: (sale: MeasuredSale) => number,
    limit: { readonly atLeast?: number; readonly atMost?: number; readonly because: string },
  ): JudgedTarget[] => {
    const of = (wanted = '') => (sales.get(wanted as RungName) ?? []).map(figure);
    const [one, other] = [of(name), of(beside)];
    if (one.length === 0 || other.length === 0) return [];
    const ratios = one.map((value, round) => value / (other[round] ?? Number.NaN));
    const target = { name: `${name} ÷ ${beside}, ${unit}`, ...limit };
    return [judgeTarget(target, spreadOfKnown(ratios), rounds)];
  };

export const rungsReport = (result: RungBenchmark): Block[] => [
  tableOf('', result.rungs, rungColumns, { legend }),
  ...paragraph(result.rungs.flatMap(refusalLine)),
  ...targetsTable(result.targets),
  {
    en: `Different users, one voucher with stock for all, no work added. ${roundsText(result).en}`,
    zh: `用户各不相同，一张券，库存够所有人，不加额外的处理时间。${roundsText(result).zh}`,
  },
  faultsText(result),
];

const rungColumns: readonly Column<RungFigures>[] = [
  [{ en: 'rung', zh: '方案' }, ({ rung }) => rung],
  acceptedColumn,
  rangeColumn(({ acceptedPerSecond }) => acceptedPerSecond),
  [{ en: 'recorded/s', zh: '入库/秒' }, ({ recordedPerSecond }) => medianText(recordedPerSecond)],
  ['p50', ({ p50Ms }) => medianText(p50Ms, 1)],
  ['p99', ({ p99Ms }) => medianText(p99Ms, 1)],
  ['CPU', ({ cpuPerOrder }) => medianText(cpuPerOrder)],
];

const legend = {
  p50: {
    en: 'answer times in ms, of refusals too; then p99',
    zh: '响应时间 ms，拒绝的也算；其后是 p99',
  },
  CPU: {
    en: 'microseconds of all servers for each accepted order',
    zh: '每个受理的订单，所有服务器合计的微秒数',
  },
};

/** Of answers that were refused although stock was left. */
function refusalLine({ rung, refused, refusedShare }: RungFigures): string[] {
  const counts = Object.entries(refused).map(([code, count]) => `${count} ${code}`);
  const share = `${(100 * refusedShare).toFixed(0)}%`;
  return counts.length > 0 ? [`${rung} refused ${share}: ${counts.join(', ')}`] : [];
}
