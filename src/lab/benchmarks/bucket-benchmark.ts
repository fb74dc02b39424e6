/**
 * One hot voucher in 1, 2, 3 and 4 buckets on three masters of a Redis Cluster. Where the masters
 * share two cores, more of them cannot sell more in a second. What a bucket takes off the busiest
 * master is its CPU time for each order: that time is the limit of a sale. The end of stock shows
 * what buckets cost: units that nobody could buy, and users who were turned away wrongly.
 */

import { type Connections, readEpoch } from '../../service/connections/connections.ts';
import { saleKeys } from '../../service/connections/sale-keys.ts';
import { stockOfBuckets } from '../../service/inventory/shared/bucket-stock.ts';
import { type EndFigures, type EndOfStock, endFigures } from '../drills/hot-voucher.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { type RedisMasters, startSaleMasters } from '../environment/redis-masters.ts';
import type { Table } from '../stage/result.ts';
import { type Block, tableOf } from '../stage/table.ts';
import { drained } from '../workload/drained.ts';
import { endSales } from '../workload/sale.ts';
import { buySteadily, byBucket, onePurchaseEach } from '../workload/steady-purchases.ts';
import { cpuBetween, readCpu } from './cpu-by-role.ts';
import { faultsOfSale } from './faults-of-figures.ts';
import {
  acceptedColumn,
  faultsText,
  medianText,
  rangeColumn,
  roundsText,
  sumText,
} from './figure-text.ts';
import {
  type Bench,
  conditionsOf,
  type MeasuredSale,
  measureSale,
  putVoucherOnSale,
  tellRound,
  warmingUp,
} from './measure.ts';
import { type ClosedBenchmarkResult, type Spread, spreadOf, spreadOfKnown } from './targets.ts';
import { countAnswers } from './wrk.ts';

const rung = 'lua-buckets';
const masterCount = 3;
/** One on each master. */
const shardCount = masterCount;
const numbers = [1, 2, 3, 4] as const;
/** Sold out by a few more users, who are spread over the buckets unevenly. */
const endOfStock = { stock: 1_200, users: 1_210, purchasesPerSecond: 10_000, withinMs: 60_000 };

export interface BucketRow {
  readonly buckets: number;
  readonly acceptedPerSecond: Spread;
  /** Microseconds of each master for each accepted order, the busiest first. Null is unknown. */
  readonly mastersCpu: readonly (Spread | null)[];
  /** Microseconds of all instances for each accepted order. */
  readonly apiCpu: Spread | null;
  readonly end: EndFigures;
}

export interface BucketBenchmark extends ClosedBenchmarkResult {
  readonly rounds: number;
  readonly masters: number;
  /** Of each sale that ran out of stock. */
  readonly endOfStock: { readonly stock: number; readonly users: number };
  readonly rows: readonly BucketRow[];
}

export async function benchmarkBuckets(bench: Bench): Promise<BucketBenchmark> {
  const { lab, progress } = bench;
  const { shape } = lab;
  progress({ en: `Starting ${masterCount} masters …`, zh: `启动 ${masterCount} 个主节点……` });
  const masters = await startSaleMasters(lab.folder, masterCount, saleKeys(shardCount).shards);
  const settings = { REDIS_URL: masters.url, REDIS_CLUSTER: '1', SALE_SHARDS: `${shardCount}` };
  try {
    return await withConnections(
      { environment: { ...lab.environment, ...settings } },
      async (connections) => {
        await giveEpoch(connections);
        await lab.ensure({ ...shape, settings: { ...shape.settings, ...settings } });
        return measureAll({ ...bench, connections }, masters);
      },
    );
  } finally {
    // An interrupted lab cannot be given back, but its masters must end.
    await lab.ensure(shape).finally(() => masters.stop());
  }
}

/** These masters are new, and no sale was lost: the service may sell there. */
async function giveEpoch(connections: Connections): Promise<void> {
  const epoch = await readEpoch(connections.mysql());
  for (const shard of connections.saleKeys.shards)
    await connections.redis('admin').set(shard.epoch, epoch);
}

interface Round {
  readonly sale: MeasuredSale;
  /** Microseconds of each master for each accepted order, the busiest first. */
  readonly masters: readonly (number | null)[];
  readonly api: number | null;
}

async function measureAll(bench: Bench, masters: RedisMasters): Promise<BucketBenchmark> {
  const { rounds, load } = bench;
  bench.progress(warmingUp);
  await measureRound(bench, masters, 1);
  const measured = new Map<number, Round[]>(numbers.map((buckets) => [buckets, []]));
  for (let round = 1; round <= rounds; round++)
    for (const buckets of numbers) {
      tellRound(bench, round, `${buckets} buckets`, `分 ${buckets} 桶`);
      measured.get(buckets)?.push(await measureRound(bench, masters, buckets));
    }
  const rows: BucketRow[] = [];
  for (const [buckets, all] of measured) {
    bench.progress({
      en: `The end of stock: ${buckets} buckets …`,
      zh: `库存将尽：分 ${buckets} 桶……`,
    });
    rows.push({ buckets, ...figuresOf(all), end: await measureEnd(bench, buckets) });
  }
  const sales = [...measured.values()].flat().map(({ sale }) => sale);
  return {
    ...conditionsOf(bench),
    masters: masterCount,
    endOfStock,
    rows,
    targets: [],
    otherWork: spreadOfKnown(sales.map(({ purchase }) => purchase.otherWork)),
    faults: [
      ...sales.flatMap((sale) => faultsOfSale(rung, sale, load.connections)),
      ...rows.flatMap(faultsOfEnd),
    ],
  };
}

async function measureRound(bench: Bench, masters: RedisMasters, buckets: number): Promise<Round> {
  const voucherId = await putVoucherOnSale(bench, rung, bench.load.tokens.count, { buckets });
  const before = masters.pids.map(readCpu);
  const others = masters.pids.map((pid) => ({ role: 'redis', pid }) as const);
  const sale = await measureSale(bench, rung, { voucherId, others });
  const times = masters.pids.map((pid, number) => cpuBetween(before[number] ?? null, readCpu(pid)));
  await endSales(bench.connections, [voucherId]);
  const each = (time: number | null) => (time === null ? null : time / sale.accepted);
  const api = sale.purchase.cpu.api;
  return {
    sale,
    masters: times.map(each).toSorted((one, other) => (other ?? 0) - (one ?? 0)),
    api: api === null ? null : each(api * countAnswers(sale.purchase.answers)),
  };
}

function figuresOf(rounds: readonly Round[]): Omit<BucketRow, 'buckets' | 'end'> {
  const places = Array.from({ length: masterCount }, (_, place) => place);
  return {
    acceptedPerSecond: spreadOf(rounds.map(({ sale }) => sale.acceptedPerSecond)),
    mastersCpu: places.map((at) => spreadOfKnown(rounds.map(({ masters }) => masters[at] ?? null))),
    apiCpu: spreadOfKnown(rounds.map(({ api }) => api)),
  };
}

/** All users come at once, and each is asked about once more when stock moved. */
async function measureEnd(bench: Bench, buckets: number): Promise<EndFigures> {
  const { lab, connections, signal } = bench;
  const { stock, users, purchasesPerSecond, withinMs } = endOfStock;
  const voucherId = await putVoucherOnSale(bench, rung, stock, { buckets });
  const purchases = onePurchaseEach(voucherId, 'end', users);
  const tries = await buySteadily(purchases, {
    baseUrl: lab.baseUrl,
    tokenSecret: lab.tokenSecret,
    purchasesPerSecond,
    giveUp: AbortSignal.any([signal, AbortSignal.timeout(withinMs)]),
  });
  const facts = { ...(await drained(connections, voucherId)), attempts: tries };
  const keys = connections.saleKeys;
  const end = await stockOfBuckets(connections.redis('admin'), keys, voucherId, buckets);
  await endSales(connections, [voucherId]);
  const demands = byBucket(keys, purchases, buckets).map((each) => each.length);
  const sale: EndOfStock = { tries, facts, end, demands };
  return endFigures([sale]);
}

export function faultsOfEnd({ buckets, end }: Pick<BucketRow, 'buckets' | 'end'>): string[] {
  const { oversold, stranded, soldOutWrongly } = end;
  return Object.entries({ oversold, stranded, soldOutWrongly })
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${buckets} buckets, the end of stock: ${count} ${name}`);
}

export function bucketsReport(result: BucketBenchmark): Block[] {
  const { rows, masters } = result;
  return [
    {
      en: `lua-buckets: one hot voucher on ${masters} masters of a Redis Cluster`,
      zh: `lua-buckets：一张热门券，Redis Cluster 的 ${masters} 个主节点`,
    },
    loadTable(rows),
    {
      en: `Compare the column "busiest": masters, instances and load share two cores, so
a second master has no core of its own, and accepted/s cannot grow.`,
      zh: `比较“最忙”这一列：主节点、实例和压测共用两个核，第二个主节点没有自己的核，
所以受理/秒不会增长。`,
    },
    endTable(result),
    {
      en: `Different users, one voucher with stock for all. ${roundsText(result).en}`,
      zh: `用户各不相同，一张券，库存够所有人。${roundsText(result).zh}`,
    },
    faultsText(result),
  ];
}

const busiestOf = ({ mastersCpu }: BucketRow): Spread | null => mastersCpu[0] ?? null;

function ordersOfBusiest(row: BucketRow): string {
  const busiest = busiestOf(row);
  return busiest ? (1e6 / busiest.median).toFixed(0) : '?';
}

const loadTable = (rows: readonly BucketRow[]): Table =>
  tableOf(
    '',
    rows,
    [
      [{ en: 'buckets', zh: '桶' }, ({ buckets }) => buckets],
      acceptedColumn,
      rangeColumn(({ acceptedPerSecond }) => acceptedPerSecond),
      [{ en: 'busiest', zh: '最忙' }, (row) => medianText(busiestOf(row), 1)],
      rangeColumn(busiestOf, 1),
      [{ en: 'orders/s', zh: '订单/秒' }, ordersOfBusiest],
      [{ en: 'all', zh: '全部' }, ({ mastersCpu }) => sumText(mastersCpu, 1)],
      ['api', ({ apiCpu }) => medianText(apiCpu)],
    ],
    {
      legend: {
        busiest: {
          en: 'CPU microseconds of the busiest master for each accepted order',
          zh: '每个受理的订单，最忙的主节点用的 CPU 微秒数',
        },
        'orders/s': {
          en: 'what this master could sell with a core of its own',
          zh: '这个主节点独占一个核时能卖多少',
        },
        all: {
          en: 'of the three masters together; api: of all instances',
          zh: '三个主节点合计；api 是所有实例合计',
        },
      },
    },
  );

const endTable = ({ endOfStock: { stock, users }, rows }: BucketBenchmark): Table =>
  tableOf(
    {
      en: `The end of stock: ${stock} units, ${users} users at once`,
      zh: `库存卖完时：${stock} 件，${users} 个用户同时抢`,
    },
    rows,
    [
      [{ en: 'buckets', zh: '桶' }, ({ buckets }) => buckets],
      [{ en: 'oversold', zh: '超卖' }, ({ end }) => end.oversold],
      [{ en: 'stranded', zh: '滞留' }, ({ end }) => end.stranded],
      [{ en: 'wrongly', zh: '误拒' }, ({ end }) => end.soldOutWrongly],
      [{ en: 'retry', zh: '重试' }, ({ end }) => end.askedToRetry],
      [{ en: 'transfers', zh: '转移' }, ({ end }) => end.transfers],
      [{ en: 'not lent', zh: '不转移' }, ({ end }) => end.strandedWithoutLending],
    ],
    {
      legend: {
        stranded: {
          en: 'units that nobody bought, although a user was told sold-out',
          zh: '没有人买到的库存，却有用户被告知已售罄',
        },
        wrongly: {
          en: 'users who were told sold-out, although a later purchase was sold',
          zh: '被告知已售罄的用户，而之后还有人买到',
        },
        retry: {
          en: 'answers not-ready, while stock moved; the clients asked again',
          zh: '库存转移期间响应 not-ready，客户端会重试',
        },
        'not lent': {
          en: 'units that the same users would have left behind without transfers',
          zh: '如果不转移，同样的用户会剩下多少',
        },
      },
    },
  );
