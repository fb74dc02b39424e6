/** One measurement: a load on one path, and what it cost each process of the lab. */

import type { Connections } from '../../service/connections/connections.ts';
import { select } from '../../service/connections/mysql.ts';
import type { Bilingual } from '../../texts/texts.ts';
import { defaultShape, type Lab, type Progress } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { orderDepth } from '../stage/order-depth.ts';
import type { Stage } from '../stage/stage.ts';
import { type NewSale, provideFor, putOnSale } from '../workload/sale.ts';
import {
  beginPeriod,
  type CpuByRole,
  cpuPerRequest,
  labProcesses,
  type RoleProcess,
} from './cpu-by-role.ts';
import {
  type Answers,
  countAnswers,
  type WrkLoad,
  type WrkResult,
  writeTokens,
  wrk,
} from './wrk.ts';

export const warmingUp: Bilingual = { en: 'Warming up …', zh: '预热中……' };

/** How long, by how many connections, how often, and on how many instances. */
export interface BenchLoad extends Pick<WrkLoad, 'seconds' | 'connections'> {
  readonly rounds: number;
  readonly instances: number;
}

export interface Bench {
  readonly lab: Lab;
  readonly connections: Connections;
  readonly load: WrkLoad;
  readonly rounds: number;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

export const tellRound = ({ progress, rounds }: Bench, round: number, en: string, zh = en): void =>
  progress({
    en: `Round ${round} of ${rounds}: ${en} …`,
    zh: `第 ${round} 轮，共 ${rounds} 轮：${zh} ……`,
  });

/** Of a closed model. */
export const conditionsOf = ({ load, rounds, lab }: Bench) => ({
  seconds: load.seconds,
  connections: load.connections,
  rounds,
  instances: lab.shape.instances,
});

export interface AnswerCost {
  /** Microseconds for each answer; `load` is the generator, on the same machine. */
  readonly cpu: CpuByRole;
  /** The share of the machine's CPU time that was neither the lab's nor the generator's. */
  readonly otherWork: number | null;
}

export interface LoadMeasurement extends WrkResult, AnswerCost {
  readonly requestsPerSecond: number;
}

type Settle = (result: WrkResult) => Promise<void>;

/** @param others processes that are not the lab's. */
export function measurePath(
  { lab, load, signal }: Bench,
  path: string,
  others: readonly RoleProcess[] = [],
  settle?: Settle,
): Promise<LoadMeasurement> {
  const processes = () => [...labProcesses(lab), ...others];
  return measureUrl(`${lab.baseUrl}${path}`, load, processes, signal, settle);
}

/** @param settle what belongs to the cost of the load, although it goes on after it. */
export async function measureUrl(
  url: string,
  load: WrkLoad,
  processes: () => readonly RoleProcess[],
  signal: AbortSignal,
  settle: Settle = async () => {},
): Promise<LoadMeasurement> {
  signal.throwIfAborted();
  const endPeriod = beginPeriod(processes);
  const result = await wrk(url, load, signal);
  await settle(result);
  const count = countAnswers(result.answers);
  const { time, otherWork } = endPeriod();
  const cpu = cpuPerRequest(time, count);
  return { ...result, requestsPerSecond: count / result.seconds, cpu, otherWork };
}

/** A rush on one voucher with enough stock for everybody, each request by another user. */
export interface MeasuredSale {
  readonly purchase: LoadMeasurement;
  readonly accepted: number;
  readonly acceptedPerSecond: number;
  readonly recorded: number;
  /** Until the last order was in MySQL. */
  readonly recordedPerSecond: number;
  /** The time from the end of the load until no order was queued. */
  readonly lagMs: number;
  /** The most orders that were queued at once. */
  readonly deepest: number;
}

/** Of a voucher that is on sale already. */
interface OpenSale {
  readonly voucherId: string;
  /** The users of this load are numbered from it. */
  readonly firstUser?: number;
  /** Processes that are not the lab's. */
  readonly others?: readonly RoleProcess[];
}

export async function measureSale(
  bench: Bench,
  rung: string,
  open?: OpenSale,
): Promise<MeasuredSale> {
  const { load, connections } = bench;
  const voucherId = open?.voucherId ?? (await putVoucherOnSale(bench, rung, load.tokens.count));
  const count = () => countConfirmed(connections, voucherId, open?.firstUser);
  const before = await count();
  const depth = orderDepth(connections, rung);
  const watch = watchDepth(depth);
  let lagMs = 0;
  const drained = async () => {
    lagMs = await drainMs(depth);
  };
  const path = orderPath(voucherId);
  const purchase = await measurePath(bench, path, open?.others, drained).finally(watch.stop);
  const recordedInTime = (await count()) - before;
  const recorded = (await settledCount(count)) - before;
  const { seconds, answers } = purchase;
  const { accepted = 0 } = answers;
  const acceptedPerSecond = accepted / seconds;
  const recordedPerSecond = recordedInTime / (seconds + lagMs / 1_000);
  const counts = { accepted, acceptedPerSecond, recorded, recordedPerSecond };
  return { purchase, ...counts, lagMs, deepest: watch.deepest() };
}

export const orderPath = (voucherId: string): string => `/vouchers/${voucherId}/orders`;

export async function putVoucherOnSale(
  { lab }: Pick<Bench, 'lab'>,
  rung: string,
  stock: number,
  more: Partial<NewSale> = {},
): Promise<string> {
  await provideFor(lab, rung);
  return putOnSale(lab, { title: 'benchmark', stock, rung, ...more });
}

const recordedWithinMs = 300_000;

/** Waits until no order is queued. @returns how long that took */
export async function drainMs(depth: () => Promise<number>): Promise<number> {
  const from = performance.now();
  const isEmpty = async () => (await depth()) === 0;
  await waitUntil('the orders to be recorded', recordedWithinMs, isEmpty, 10);
  return performance.now() - from;
}

const betweenCountsMs = 100;

/**
 * The number of orders, once the last requests of the load are answered.
 * @param times how many counts after the first must be equal to it
 */
export async function settledCount(orders: () => Promise<number>, times = 1): Promise<number> {
  let last = -1;
  let same = 0;
  const isSettled = async () => {
    const count = await orders();
    same = count === last ? same + 1 : 0;
    last = count;
    return same === times;
  };
  await waitUntil('the last purchases to end', 30_000, isSettled, betweenCountsMs);
  return last;
}

/** Of this user and later ones, by the key over voucher and user: fast among millions. */
export async function countConfirmed(
  connections: Connections,
  voucherId: string,
  firstUser = 0,
): Promise<number> {
  const [row] = await select<{ count: string | number }>(
    connections.mysql(),
    `SELECT COUNT(*) AS count FROM orders
     WHERE voucher_id = ? AND user_id >= ? AND status = 'confirmed'`,
    [voucherId, firstUser],
  );
  return Number(row?.count ?? 0);
}

function watchDepth(depth: () => Promise<number>) {
  let deepest = 0;
  const timer = setInterval(async () => {
    deepest = Math.max(deepest, await depth().catch(() => 0));
  }, betweenCountsMs);
  return { stop: () => clearInterval(timer), deepest: () => deepest };
}

export interface OpenLoad extends AnswerCost {
  readonly accepted: number;
  readonly recorded: number;
}

/**
 * One load of an open model, on a voucher with enough stock for all, until its last order is
 * recorded. @param send sends the purchases, and waits for the answers
 */
export async function measureOpen<Sent extends { readonly answers: Answers }>(
  { lab, connections }: Pick<Bench, 'lab' | 'connections'>,
  rung: string,
  stock: number,
  send: (voucherId: string) => Promise<Sent>,
  more: Partial<NewSale> = {},
): Promise<Sent & OpenLoad> {
  const voucherId = await putVoucherOnSale({ lab }, rung, stock, more);
  const endPeriod = beginPeriod(() => labProcesses(lab));
  const sent = await send(voucherId);
  await drainMs(orderDepth(connections, rung));
  const { time, otherWork } = endPeriod();
  const cpu = cpuPerRequest(time, countAnswers(sent.answers));
  const { accepted = 0 } = sent.answers;
  const recorded = await countConfirmed(connections, voucherId);
  return { ...sent, accepted, recorded, cpu, otherWork };
}

/** With more purchases than this in a second, users repeat; their second purchases are refused. */
const usersPerSecond = 20_000;
/** More than the instances remember: nearly every token of a load is new to its instance. */
const usersMin = 50_000;

/** A lab for a benchmark: no history is kept, and there is a token for each request of a load. */
export function withBench<T>(
  stage: Stage,
  { instances, rounds, ...load }: BenchLoad,
  work: (bench: Bench) => Promise<T>,
): Promise<T> {
  const { lab, signal } = stage;
  const progress = (text: Bilingual) => stage.note(text);
  return withConnections(lab, async (connections) => {
    await lab.ensure({ ...defaultShape, instances, settings: { HISTORY_FOLDER: '' } });
    const count = Math.max(usersMin, usersPerSecond * load.seconds);
    progress({ en: `Signing ${count} tokens …`, zh: `签发 ${count} 个令牌……` });
    const tokens = await writeTokens(lab, count);
    return work({ lab, connections, load: { ...load, tokens }, rounds, signal, progress });
  });
}
