/**
 * Another service beside this one: the same load buys from each, in turns, so that other work of
 * the machine hits both. One function measures both. An answer counts when it says that it sold,
 * and an order when it is in the database.
 */

import { isServiceError } from '../../service/errors.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Bilingual, Table } from '../stage/result.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import { type CpuRole, labProcesses, type RoleProcess, serverRoles } from './cpu-by-role.ts';
import { faultsOfAnswers, faultsOfRecording } from './faults-of-figures.ts';
import {
  acceptedColumn,
  cpuTitle,
  faultsText,
  medianText,
  rangeColumn,
  rangeText,
  roundsText,
  sumText,
  targetsTable,
} from './figure-text.ts';
import {
  type Bench,
  conditionsOf,
  countConfirmed,
  type LoadMeasurement,
  measureUrl,
  orderPath,
  putVoucherOnSale,
  settledCount,
  tellRound,
} from './measure.ts';
import { type OtherService, withCounter } from './other-service.ts';
import { type RequestFigures, requestFigures } from './purchase-benchmark.ts';
import {
  type ClosedBenchmarkResult,
  judgeTarget,
  type Spread,
  spreadOf,
  spreadOfKnown,
} from './targets.ts';
import type { WrkLoad } from './wrk.ts';

/** What is measured: a service that sells one voucher, and what counts its orders. */
interface Seller {
  readonly name: string;
  readonly url: string;
  readonly load: WrkLoad;
  readonly processes: readonly RoleProcess[];
  /** The orders in its database. Null: nobody counts them. */
  readonly orders: (() => Promise<number>) | null;
}

/** What became of the accepted orders. */
export interface Recording {
  readonly recorded: number;
  readonly duringPerSecond: number;
  /** After the load. */
  readonly afterPerSecond: number;
  /** From the end of the load until the last order was in the database. */
  readonly drainSeconds: number;
  /** Accepted and in the database, for each second of both. */
  readonly perSecond: number;
}

export interface SellerRound {
  readonly purchase: LoadMeasurement;
  readonly accepted: number;
  readonly acceptedPerSecond: number;
  readonly recording: Recording | null;
}

export interface SellerFigures extends RequestFigures {
  readonly name: string;
  readonly acceptedPerSecond: Spread;
  readonly recording: Readonly<Record<keyof Recording, Spread>> | null;
}

export interface BesideBenchmark extends ClosedBenchmarkResult {
  readonly rounds: number;
  readonly sellers: readonly SellerFigures[];
  /** This service ÷ the other one, round by round. Null is unknown. */
  readonly ratios: {
    readonly accepted: Spread | null;
    readonly recorded: Spread | null;
    readonly p99: Spread | null;
  };
}

interface Pair {
  readonly ours: SellerRound;
  readonly theirs: SellerRound;
}

const ourName = 'lockstep';
/** A JVM compiles what it runs often, and is slow until then: it gets the time of two rounds. */
const warmUpRounds = 2;
/** The work that one leaves would be done while the other one is measured. */
const drainMsMax = 300_000;
const betweenCountsMs = 100;
/** Another service may record one order after the other, and slowly: nothing came for a second. */
const countsThatSettle = 10;

export function benchmarkBeside(bench: Bench, other: OtherService): Promise<BesideBenchmark> {
  return withCounter(other, async (orders) => {
    const pairs: Pair[] = [];
    const seconds = bench.load.seconds * warmUpRounds;
    bench.progress({
      en: `Warming up: ${seconds} s for each, which do not count …`,
      zh: `预热：各 ${seconds} 秒，不计入结果……`,
    });
    const warmUp = { ...bench, load: { ...bench.load, seconds } };
    await measurePair(warmUp, other, orders, false);
    const { seconds: each } = bench.load;
    for (let round = 1; round <= bench.rounds; round++) {
      tellRound(bench, round, `${each} s for each`, `各 ${each} 秒`);
      pairs.push(await measurePair(bench, other, orders, round % 2 === 0));
    }
    return summarize(bench, other.name, pairs);
  });
}

/** They take turns at being the first, too. */
async function measurePair(
  bench: Bench,
  other: OtherService,
  orders: Seller['orders'],
  oursFirst: boolean,
): Promise<Pair> {
  const measureOurs = async () => measureSeller(await ourSale(bench), bench);
  const first = oursFirst ? await measureOurs() : null;
  const theirs = await measureSeller(otherSale(bench, other, orders), bench);
  return { theirs, ours: first ?? (await measureOurs()) };
}

async function ourSale(bench: Bench): Promise<Seller> {
  const { lab, load, connections } = bench;
  const voucherId = await putVoucherOnSale(bench, 'lua-stream', load.tokens.count);
  return {
    name: ourName,
    url: `${lab.baseUrl}${orderPath(voucherId)}`,
    load: { ...load, sold: '"voucherId"' },
    processes: labProcesses(lab),
    orders: () => countConfirmed(connections, voucherId),
  };
}

function otherSale({ load }: Bench, other: OtherService, orders: Seller['orders']): Seller {
  const { name, url, tokens, sold, processes } = other;
  const loadGenerator: RoleProcess = { role: 'load', pid: process.pid };
  return {
    name,
    url,
    orders,
    load: { ...load, tokens, sold },
    processes: [loadGenerator, ...processes],
  };
}

async function measureSeller(
  { name, url, load, processes, orders }: Seller,
  { signal }: Bench,
): Promise<SellerRound> {
  const before = (await orders?.()) ?? 0;
  let during = 0;
  let drainSeconds = 0;
  const settle = async ({ answers: { accepted = 0 } }: Pick<LoadMeasurement, 'answers'>) => {
    if (!orders) return;
    during = (await orders()) - before;
    const endedAt = performance.now();
    const isDone = async () => {
      signal.throwIfAborted();
      return (await orders()) - before >= accepted;
    };
    const draining = waitUntil(`${name} to record`, drainMsMax, isDone, betweenCountsMs);
    await draining.catch(isTooLate);
    drainSeconds = (performance.now() - endedAt) / 1_000;
  };
  const purchase = await measureUrl(url, load, () => processes, signal, settle);
  const { accepted = 0 } = purchase.answers;
  const { seconds } = purchase;
  const recorded = orders ? (await settledCount(orders, countsThatSettle)) - before : 0;
  const inTime = Math.min(recorded, accepted);
  const recording = {
    recorded,
    drainSeconds,
    duringPerSecond: during / seconds,
    afterPerSecond: Math.max(0, inTime - during) / drainSeconds,
    perSecond: inTime / (seconds + drainSeconds),
  };
  const acceptedPerSecond = accepted / seconds;
  return { purchase, accepted, acceptedPerSecond, recording: orders ? recording : null };
}

/** Then fewer orders are recorded than were accepted, which is a fault of the figures. */
function isTooLate(error: unknown): void {
  if (!isServiceError(error, 'DEADLINE_PASSED')) throw error;
}

function summarize(bench: Bench, name: string, pairs: readonly Pair[]): BesideBenchmark {
  const { connections } = bench.load;
  const ours = pairs.map((pair) => pair.ours);
  const theirs = pairs.map((pair) => pair.theirs);
  const ratios = ratiosOf(pairs);
  const target = {
    name: `accepted/s ÷ ${name}`,
    atLeast: 2,
    because: 'to lose no order must not cost a shop its speed: the safe service is the faster one',
  };
  return {
    ...conditionsOf(bench),
    ratios,
    sellers: [figuresOf(ourName, ours), figuresOf(name, theirs)],
    otherWork: spreadOfKnown([...ours, ...theirs].map(({ purchase }) => purchase.otherWork)),
    targets: [judgeTarget(target, ratios.accepted, bench.rounds)],
    faults: [
      ...ours.flatMap((round) => faultsOfSeller(ourName, round, connections)),
      ...theirs.flatMap((round) => faultsOfSeller(name, round, connections)),
    ],
  };
}

export function ratiosOf(pairs: readonly Pair[]): BesideBenchmark['ratios'] {
  const ratio = (figure: (round: SellerRound) => number | undefined) =>
    spreadOfKnown(
      pairs.map(
        ({ ours, theirs }) => (figure(ours) ?? Number.NaN) / (figure(theirs) ?? Number.NaN),
      ),
    );
  return {
    accepted: ratio(({ acceptedPerSecond }) => acceptedPerSecond),
    recorded: ratio(({ recording }) => recording?.perSecond),
    p99: ratio(({ purchase }) => purchase.p99Ms),
  };
}

function figuresOf(name: string, rounds: readonly SellerRound[]): SellerFigures {
  const recordings = rounds.flatMap(({ recording }) => recording ?? []);
  const spread = (figure: keyof Recording) => spreadOf(recordings.map((each) => each[figure]));
  const recording = () => ({
    recorded: spread('recorded'),
    duringPerSecond: spread('duringPerSecond'),
    afterPerSecond: spread('afterPerSecond'),
    drainSeconds: spread('drainSeconds'),
    perSecond: spread('perSecond'),
  });
  return {
    name,
    ...requestFigures(rounds.map(({ purchase }) => purchase)),
    acceptedPerSecond: spreadOf(rounds.map(({ acceptedPerSecond }) => acceptedPerSecond)),
    recording: recordings.length > 0 ? recording() : null,
  };
}

/** Why a round does not count: a refusal is no purchase, and an order is in the database. */
export function faultsOfSeller(name: string, round: SellerRound, connections: number): string[] {
  const { purchase, accepted, recording } = round;
  const faults = faultsOfAnswers(name, purchase, 'accepted');
  if (!recording) return faults;
  const { recorded } = recording;
  return [...faults, ...faultsOfRecording(name, accepted, recorded, purchase.broken + connections)];
}

export function besideReport(result: BesideBenchmark): Block[] {
  const { sellers, targets, faults } = result;
  const uncounted = sellers.filter(({ recording }) => !recording).map(({ name }) => name);
  return [
    tableOf('', sellers, speedColumns),
    tableOf('', sellers, recordingColumns, { legend }),
    cpuTable(sellers),
    ratiosTable(result),
    ...targetsTable(targets),
    roundsText(result),
    uncounted.length > 0 && faults.length === 0 ? uncountedText(uncounted) : faultsText(result),
  ];
}

const uncountedText = (names: readonly string[]): Bilingual => ({
  en: `Every answer was the expected one.
NOBODY COUNTED THE ORDERS of ${names.join(' and ')}: what it says is believed.`,
  zh: `每个响应都符合预期。
没有人核对 ${names.join('、')} 的订单：只能信它自己说的。`,
});

const speedColumns: readonly Column<SellerFigures>[] = [
  [{ en: 'service', zh: '服务' }, ({ name }) => name],
  acceptedColumn,
  rangeColumn(({ acceptedPerSecond }) => acceptedPerSecond),
  ['p50 ms', ({ p50Ms }) => medianText(p50Ms, 1)],
  ['p99 ms', ({ p99Ms }) => medianText(p99Ms, 1)],
  rangeColumn(({ p99Ms }) => p99Ms),
];

const recorded = ({ recording }: SellerFigures, figure: keyof Recording, digits = 0): string =>
  medianText(recording?.[figure] ?? null, digits);

const recordingColumns: readonly Column<SellerFigures>[] = [
  [{ en: 'recorded/s', zh: '入库/秒' }, ({ name }) => name],
  [{ en: 'during', zh: '压测中' }, (seller) => recorded(seller, 'duringPerSecond')],
  [{ en: 'after', zh: '压测后' }, (seller) => recorded(seller, 'afterPerSecond')],
  [{ en: 'all after s', zh: '全部入库 s' }, (seller) => recorded(seller, 'drainSeconds', 1)],
  [{ en: 'of both', zh: '合计' }, (seller) => recorded(seller, 'perSecond')],
];

const legend = {
  during: {
    en: 'orders that came into the database in each second of the load',
    zh: '压测期间每秒写入数据库的订单',
  },
  after: {
    en: 'in each second after the load, until all were there',
    zh: '压测之后每秒写入的，直到全部写入',
  },
  'of both': {
    en: 'accepted orders in the database, in each second of both',
    zh: '两段时间合计，每秒写入数据库的已受理订单',
  },
};

/** A service names its processes; what it does not name has no figure. */
function cpuTable(sellers: readonly SellerFigures[]): Table {
  const isNamed = ({ cpu }: SellerFigures, role: CpuRole) => cpu[role]?.median !== 0;
  const sum = (seller: SellerFigures): string => {
    const named = serverRoles.filter((role) => isNamed(seller, role));
    return named.length > 0 ? sumText(named.map((role) => seller.cpu[role])) : '?';
  };
  return tableOf(cpuTitle, sellers, [
    [{ en: 'service', zh: '服务' }, ({ name }) => name],
    ...(['load', ...serverRoles] as const).map(
      (role): Column<SellerFigures> => [
        role,
        (seller) => (isNamed(seller, role) ? medianText(seller.cpu[role], 1) : '–'),
      ],
    ),
    [{ en: 'sum', zh: '合计' }, sum],
  ]);
}

function ratiosTable({ sellers, ratios }: BesideBenchmark): Table {
  const [ours, theirs] = sellers.map(({ name }) => name);
  const rows: readonly (readonly [name: Bilingual, ratio: Spread | null])[] = [
    [{ en: 'accepted/s', zh: '受理/秒' }, ratios.accepted],
    [{ en: 'accepted and recorded/s', zh: '受理并入库/秒' }, ratios.recorded],
    [{ en: 'p99', zh: 'p99' }, ratios.p99],
  ];
  return tableOf('', rows, [
    [`${ours} ÷ ${theirs}`, ([name]) => name],
    [{ en: 'median', zh: '中位数' }, ([, ratio]) => medianText(ratio, 2)],
    [{ en: 'least..most', zh: '最低..最高' }, ([, ratio]) => (ratio ? rangeText(ratio, 2) : '')],
  ]);
}
