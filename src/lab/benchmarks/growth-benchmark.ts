/** One voucher with more and more orders: its millionth purchase should cost what its first did. */
import type { RungName } from '../../ladder/rungs.ts';
import { faultsOfSale } from './faults-of-figures.ts';
import { type Bench, measureSale, putVoucherOnSale } from './measure.ts';
import { cpuPerOrder } from './rung-benchmark.ts';
import { type Spread, spreadOf, spreadOfKnown } from './spread.ts';
import {
  type ClosedBenchmarkResult,
  type JudgedTarget,
  judgeTarget,
  leastRounds,
  type Target,
} from './targets.ts';
import { writeTokens } from './wrk.ts';

/** Some slices of the load, up to a number of orders. */
export interface GrowthRow {
  readonly orders: number;
  readonly acceptedPerSecond: Spread;
  readonly p99Ms: Spread;
  readonly lagMs: Spread;
  /** Microseconds of all servers for each order. Null is unknown. */
  readonly cpuPerOrder: Spread | null;
  /** Bytes of redis-main for each order, once the queue is empty. */
  readonly redisBytesPerOrder: Spread;
}

export interface Growth extends ClosedBenchmarkResult {
  readonly rung: RungName;
  readonly rows: readonly GrowthRow[];
}

/** A first row that was still cold would make every later one look flat. */
const warmUpLoads = 4;
/** Of a voucher: more than the orders of any run. */
const mostStock = 10_000_000;

type Slice = Readonly<Record<'rate' | 'p99Ms' | 'lagMs' | 'redisBytes', number>> & {
  readonly cpu: number | null;
};

/** The last row against the first one. */
const flat: readonly [Target, (row: GrowthRow) => Spread | null][] = [
  [
    {
      name: 'CPU per order, last ÷ first',
      atMost: 1.5,
      because: 'Redis finds a buyer in constant time; only MySQL’s indexes become deeper',
    },
    (row) => row.cpuPerOrder,
  ],
  [
    { name: 'p99, last ÷ first', atMost: 2, because: 'no purchase waits for what grows' },
    (row) => row.p99Ms,
  ],
  [
    {
      name: 'Redis bytes per order, last ÷ first',
      atMost: 1.5,
      because: 'one entry for each buyer; a hash table that has just doubled has empty places',
    },
    (row) => row.redisBytesPerOrder,
  ],
];

export async function benchmarkGrowth(
  bench: Bench,
  rung: RungName,
  orders: number,
): Promise<Growth> {
  bench.progress('Warming up …');
  for (let load = 0; load < warmUpLoads; load++) await measureSale(bench, rung);
  const voucherId = await putVoucherOnSale(bench, rung, mostStock);
  const emptyBytes = await redisBytes(bench);
  const rows: GrowthRow[] = [];
  const faults: string[] = [];
  const otherWork: (number | null)[] = [];
  let [total, firstUser, slices]: [number, number, Slice[]] = [0, 1, []];
  for (const mark of marksUpTo(orders)) {
    while (total < mark && faults.length === 0) {
      const { sale, users } = await measureSlice(bench, rung, voucherId, firstUser);
      total += sale.recorded;
      firstUser += users;
      faults.push(...faultsOfSale(rung, sale, bench.load.connections));
      const bytes = ((await redisBytes(bench)) - emptyBytes) / total;
      slices.push(sliceOf(sale, bytes));
      otherWork.push(sale.purchase.otherWork);
    }
    if (slices.length > 0) rows.push(rowOf(total, slices));
    bench.progress(`${total} orders …`);
    slices = [];
  }
  const { seconds, connections } = bench.load;
  const { instances } = bench.lab.shape;
  const shape = { rung, seconds, connections, instances, otherWork: spreadOfKnown(otherWork) };
  return { ...shape, rows, targets: flatness(rows), faults };
}

/** 10,000, 20,000, 50,000, 100,000 … and the last. */
export function marksUpTo(orders: number): number[] {
  const marks: number[] = [];
  for (let power = 10_000; power < orders; power *= 10)
    marks.push(...[1, 2, 5].map((times) => times * power).filter((mark) => mark < orders));
  return [...marks, orders];
}

/** Each slice has new users: a user buys this voucher once. */
async function measureSlice(bench: Bench, rung: RungName, voucherId: string, firstUser: number) {
  const { lab, load, connections } = bench;
  const { count } = load.tokens;
  const tokens = await writeTokens(lab.folder, connections.config.TOKEN_SECRET, count, firstUser);
  const sale = await measureSale({ ...bench, load: { ...load, tokens } }, rung, voucherId);
  return { sale, users: tokens.next };
}

type Sale = Awaited<ReturnType<typeof measureSale>>;

const sliceOf = (sale: Sale, bytes: number): Slice => ({
  ...{ rate: sale.acceptedPerSecond, p99Ms: sale.purchase.p99Ms, lagMs: sale.lagMs },
  ...{ redisBytes: bytes, cpu: cpuPerOrder(sale.purchase, sale.accepted) },
});

const rowOf = (orders: number, slices: readonly Slice[]): GrowthRow => ({
  orders,
  acceptedPerSecond: spreadOf(slices.map(({ rate }) => rate)),
  p99Ms: spreadOf(slices.map(({ p99Ms }) => p99Ms)),
  lagMs: spreadOf(slices.map(({ lagMs }) => lagMs)),
  cpuPerOrder: spreadOfKnown(slices.map(({ cpu }) => cpu)),
  redisBytesPerOrder: spreadOf(slices.map(({ redisBytes }) => redisBytes)),
});

export function flatness(rows: readonly GrowthRow[]): JudgedTarget[] {
  const [first, last] = [rows[0], rows.at(-1)];
  if (!first || !last || first === last) return [];
  return flat.map(([target, figure]) =>
    judgeTarget(target, ratioOf(figure(last), figure(first)), leastRounds),
  );
}

function ratioOf(one: Spread | null, other: Spread | null): Spread | null {
  if (!one || !other) return null;
  return {
    median: one.median / other.median,
    least: one.least / other.most,
    most: one.most / other.least,
  };
}

async function redisBytes({ connections }: Bench): Promise<number> {
  const info = await connections.redis('admin').info('memory');
  return Number(/^used_memory:(\d+)/m.exec(info)?.[1]);
}
