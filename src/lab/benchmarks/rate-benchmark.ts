/**
 * What a purchase costs at a low rate, and in the first seconds of an instance. It costs more: a
 * core that has nothing to do falls asleep, and must be woken up for each message; few buyers share
 * a call of the script; and code that has just started is not compiled yet.
 */
import { readFileSync } from 'node:fs';
import { waitUntil } from '../environment/wait-until.ts';
import { beginCpuPeriod, type CpuByRole, cpuPerRequest } from './cpu-by-role.ts';
import { faultsOfRecording } from './faults-of-figures.ts';
import { labProcesses } from './lab-processes.ts';
import { type LightResult, lightLoad } from './light-load.ts';
import {
  type Bench,
  countConfirmed,
  depthOf,
  measureSale,
  orderPath,
  putVoucherOnSale,
} from './measure.ts';
import { machineTime, otherShare } from './other-work.ts';
import type { BenchmarkResult } from './targets.ts';

const rates = [500, 1_500, 3_000, 6_000] as const;
const rung = 'lua-stream';

export interface RateRow extends Omit<LightResult, 'answers'> {
  /** The instances had just started. */
  readonly isCold: boolean;
  /** Purchases per second: those that were due; of a closed model, those that were sold. */
  readonly rate: number;
  readonly isClosed: boolean;
  readonly cpu: CpuByRole;
  readonly otherWork: number | null;
}

export interface RateBenchmark extends BenchmarkResult {
  readonly rows: readonly RateRow[];
}

export async function benchmarkRates(bench: Bench): Promise<RateBenchmark> {
  const { lab, load, progress } = bench;
  const rows: RateRow[] = [];
  const faults: string[] = [];
  const measure = async (rate: number, isCold: boolean) => {
    if (isCold) await lab.serve(lab.shape);
    progress(`${rate} purchases/s, ${isCold ? 'cold' : 'warm'} …`);
    const { row, fault } = await measureOpenRate(bench, rate, isCold);
    rows.push(row);
    faults.push(...fault);
  };
  for (const rate of rates) await measure(rate, true);
  progress('Warming up …');
  await measureSale(bench, rung);
  for (const rate of rates) await measure(rate, false);
  progress('As many as it sells …');
  const { purchase } = await measureSale(bench, rung);
  const { requestsPerSecond, ...measured } = purchase;
  rows.push({ ...measured, rate: requestsPerSecond, isCold: false, isClosed: true });
  const { seconds } = load;
  return { rows, seconds, instances: lab.shape.instances, targets: [], faults };
}

async function measureOpenRate(bench: Bench, rate: number, isCold: boolean) {
  const { lab, connections, load, signal } = bench;
  const count = rate * load.seconds;
  const headers = headersFrom(load.tokens.file, count);
  const voucherId = await putVoucherOnSale(bench, rung, count);
  const endPeriod = beginCpuPeriod(() => labProcesses(lab));
  const before = machineTime();
  const url = `${lab.baseUrl}${orderPath(voucherId)}`;
  const { answers, ...latency } = await lightLoad(
    url,
    { rate, seconds: load.seconds, headers },
    signal,
  );
  const depth = depthOf(connections, rung);
  await waitUntil('the orders to be recorded', 300_000, async () => (await depth()) === 0);
  const time = endPeriod();
  const otherWork = otherShare(before, machineTime(), time);
  const { accepted = 0, ...others } = answers;
  const name = `${rate} purchases/s`;
  const fault = [
    ...Object.entries(others).map(([code, times]) => `${name}: ${times} ${code}`),
    ...faultsOfRecording(name, accepted, await countConfirmed(connections, voucherId), 0),
  ];
  const cpu = cpuPerRequest(time, count);
  return { row: { ...latency, rate, isCold, isClosed: false, cpu, otherWork }, fault };
}

/** Each voucher is another one, so the same users may buy it. */
const headersFrom = (file: string, count: number): string[] =>
  readFileSync(file, 'utf8').split('\n', count);
