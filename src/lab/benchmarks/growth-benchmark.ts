/**
 * One voucher with more and more orders: its millionth purchase should cost what its first did. The
 * orders are bought by HTTP or, for many millions, by the script of the rung alone. What this
 * command keeps itself does not grow with the orders: a slice of the load is forgotten when its
 * line is written.
 */

import { readFileSync } from 'node:fs';
import type { RungName } from '../../service/ladder/rungs.ts';
import { labError } from '../errors.ts';
import { sum } from '../stage/counts.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import { labProcesses } from './cpu-by-role.ts';
import { faultsOfSale } from './faults-of-figures.ts';
import {
  acceptedColumn,
  faultsText,
  medianText,
  otherWorkText,
  rangeColumn,
  targetsTable,
} from './figure-text.ts';
import { type Bench, measureSale, putVoucherOnSale, warmingUp } from './measure.ts';
import { cpuPerOrder } from './rung-benchmark.ts';
import { type SellSlice, type SoldSlice, withScriptBuyer } from './script-buyer.ts';
import {
  type ClosedBenchmarkResult,
  type JudgedTarget,
  judgeTarget,
  roundsMin,
  type Spread,
  spreadOf,
  spreadOfKnown,
  type Target,
} from './targets.ts';
import { type Tokens, writeTokens } from './wrk.ts';

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
  /** Megabytes of all order workers. Null is unknown. */
  readonly workerMb: Spread | null;
}

export interface Growth extends ClosedBenchmarkResult {
  readonly rung: RungName;
  /** Without HTTP: the load called the script of the rung itself. */
  readonly byScript: boolean;
  readonly rows: readonly GrowthRow[];
}

/** A first row that was still cold would make every later one look flat. */
const warmUpLoads = 4;
/** Of a voucher: more than the orders of any run. */
const stockMax = 10_000_000;
const ordersByHttpMax = 5_000_000;

interface Slice extends SoldSlice {
  readonly redisBytes: number;
  readonly workerMb: number | null;
}

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

/** Before the lab starts. @throws ORDERS_NEED_SCRIPT */
export function refuseManyByHttp(orders: number): void {
  if (orders > ordersByHttpMax) throw labError('ORDERS_NEED_SCRIPT', ordersByHttpMax);
}

export async function benchmarkGrowth(
  bench: Bench,
  rung: RungName,
  orders: number,
  byScript: boolean,
): Promise<Growth> {
  bench.progress(warmingUp);
  for (let load = 0; load < warmUpLoads; load++) await measureSale(bench, rung);
  const voucherId = await putVoucherOnSale(bench, rung, stockMax);
  const measured = byScript
    ? await withScriptBuyer(bench, rung, voucherId, (sell) => grow(bench, sell, orders))
    : await grow(bench, byHttp(bench, rung, voucherId), orders);
  const { seconds, connections } = bench.load;
  const { instances } = bench.lab.shape;
  return { rung, byScript, seconds, connections, instances, ...measured };
}

async function grow(
  bench: Bench,
  sell: SellSlice,
  orders: number,
): Promise<Pick<Growth, 'rows' | 'targets' | 'otherWork' | 'faults'>> {
  const emptyBytes = await redisBytes(bench);
  const rows: GrowthRow[] = [];
  const faults: string[] = [];
  const otherWork: (number | null)[] = [];
  let [total, firstUser] = [0, 1];
  for (const mark of marksUpTo(orders)) {
    const slices: Slice[] = [];
    while (total < mark && faults.length === 0) {
      const slice = await sell(firstUser, mark - total);
      total += slice.recorded;
      firstUser += slice.users;
      faults.push(...slice.faults);
      otherWork.push(slice.otherWork);
      const bytes = ((await redisBytes(bench)) - emptyBytes) / total;
      slices.push({ ...slice, redisBytes: bytes, workerMb: workerMemory(bench) });
    }
    if (slices.length > 0) rows.push(rowOf(total, slices));
    bench.progress({ en: `${total} orders …`, zh: `订单 ${total} 个……` });
  }
  return { rows, targets: flatness(rows), otherWork: spreadOfKnown(otherWork), faults };
}

/** 10,000, 20,000, 50,000, 100,000 … and the last. */
export function marksUpTo(orders: number): number[] {
  const marks: number[] = [];
  for (let power = 10_000; power < orders; power *= 10)
    marks.push(...[1, 2, 5].map((times) => times * power).filter((mark) => mark < orders));
  return [...marks, orders];
}

/** Each slice has new users: a user buys this voucher once. */
function byHttp(bench: Bench, rung: RungName, voucherId: string): SellSlice {
  const { lab, load } = bench;
  const { count } = load.tokens;
  let tokens: Tokens = { file: '', count: 0, next: 0 };
  let used = 0;
  return async (firstUser) => {
    // Signed for several slices, as far as the last one shows how many a slice needs.
    if (tokens.count - tokens.next <= 2 * used) tokens = await writeTokens(lab, count, firstUser);
    const from = tokens.next;
    const own = { ...bench, load: { ...load, tokens } };
    const sale = await measureSale(own, rung, { voucherId, firstUser });
    used = tokens.next - from;
    const { recorded, acceptedPerSecond: rate, lagMs, purchase } = sale;
    return {
      recorded,
      rate,
      lagMs,
      users: used,
      p99Ms: purchase.p99Ms,
      cpu: cpuPerOrder(purchase, sale.accepted),
      otherWork: purchase.otherWork,
      faults: faultsOfSale(rung, sale, load.connections),
    };
  };
}

/** From /proc: megabytes that are in RAM, of all together. Null when one has ended. */
function workerMemory({ lab }: Bench): number | null {
  const workers = labProcesses(lab).filter(({ role }) => role === 'worker');
  try {
    return sum(workers.map(({ pid }) => residentMb(pid)));
  } catch {
    return null;
  }
}

function residentMb(pid: number): number {
  const [, kilobytes] =
    /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}

const rowOf = (orders: number, slices: readonly Slice[]): GrowthRow => ({
  orders,
  acceptedPerSecond: spreadOf(slices.map(({ rate }) => rate)),
  p99Ms: spreadOf(slices.map(({ p99Ms }) => p99Ms)),
  lagMs: spreadOf(slices.map(({ lagMs }) => lagMs)),
  cpuPerOrder: spreadOfKnown(slices.map(({ cpu }) => cpu)),
  redisBytesPerOrder: spreadOf(slices.map(({ redisBytes }) => redisBytes)),
  workerMb: spreadOfKnown(slices.map(({ workerMb }) => workerMb)),
});

export function flatness(rows: readonly GrowthRow[]): JudgedTarget[] {
  const [first, last] = [rows[0], rows.at(-1)];
  if (!first || !last || first === last) return [];
  return flat.map(([target, figure]) =>
    judgeTarget(target, ratioOf(figure(last), figure(first)), roundsMin),
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

export function growthReport(result: Growth): Block[] {
  const { rung, byScript, rows, targets, seconds, connections, instances } = result;
  const other = otherWorkText(result.otherWork);
  const title = {
    en: `${rung}: one voucher with more and more orders`,
    zh: `${rung}：一张券，订单越来越多`,
  };
  return [
    tableOf(title, rows, growthColumns, { legend }),
    {
      en: 'Each line is of the orders since the line before.',
      zh: '每行统计上一行之后的订单。',
    },
    ...targetsTable(targets),
    byScript
      ? {
          en: `BY SCRIPT, WITHOUT HTTP: accepted/s and p99 are of the script alone.
Each order by another user, ${connections} at once, in slices of 20,000; a slice begins
when the one before is recorded
${other.en}`,
          zh: `直接调脚本，不走 HTTP：受理/秒和 p99 只是脚本的。
每单一个新用户，${connections} 个并发，每段 20,000 单；上一段入库后才开始下一段
${other.zh}`,
        }
      : {
          en: `Slices of ${seconds} s, wrk with ${connections} connections, each request by another user,
${instances} instances behind one nginx, order workers running
${other.en}`,
          zh: `每段 ${seconds} 秒，wrk ${connections} 个连接，每个请求一个新用户，
一个 nginx 后面 ${instances} 个实例，订单消费者在运行
${other.zh}`,
        },
    faultsText(result),
  ];
}

const growthColumns: readonly Column<GrowthRow>[] = [
  [{ en: 'orders', zh: '订单' }, ({ orders }) => orders],
  acceptedColumn,
  ['p99 ms', ({ p99Ms }) => medianText(p99Ms)],
  rangeColumn(({ p99Ms }) => p99Ms),
  [{ en: 'lag ms', zh: '延迟 ms' }, ({ lagMs }) => medianText(lagMs)],
  ['CPU µs', (row) => medianText(row.cpuPerOrder)],
  [
    { en: 'Redis bytes', zh: 'Redis 字节' },
    ({ redisBytesPerOrder }) => medianText(redisBytesPerOrder),
  ],
  [{ en: 'worker MB', zh: '消费者 MB' }, ({ workerMb }) => medianText(workerMb)],
];

const legend = {
  'CPU µs': { en: 'of all servers for each order', zh: '每单，所有服务器合计' },
  'Redis bytes': {
    en: 'memory of redis-main for each order so far, once the queue is empty',
    zh: '队列排空后，redis-main 的内存平均到每单',
  },
  'worker MB': { en: 'memory of the order workers', zh: '订单消费者的内存' },
};
