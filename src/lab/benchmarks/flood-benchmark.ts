/**
 * Steady purchases beside a flood of other requests, without the limits of nginx for an address and
 * with them. Every buyer has an address of their own, and the flood has one.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Bilingual, Table } from '../stage/result.ts';
import { type Block, tableOf } from '../stage/table.ts';
import {
  deploymentLimits,
  type FloodRequest,
  floodConnections,
  floodRequests,
} from '../workload/flood.ts';
import { faultsOfRecording, otherAnswers } from './faults-of-figures.ts';
import { faultsText } from './figure-text.ts';
import { lightLoad } from './light-load.ts';
import { type Bench, measureOpen, orderPath } from './measure.ts';
import type { BenchmarkResult } from './targets.ts';
import { type Answers, countAnswers, headersOf, type LoadResult, runWrk } from './wrk.ts';

const rung = 'lua-stream';

/** By the limits: the flood and this process have one address, and it would be refused too. */
const forgottenAfterMs =
  (Number(deploymentLimits.LIMIT_BURST) / Number.parseInt(deploymentLimits.LIMIT_RATE, 10)) * 1_000;

export interface FloodRow extends LoadResult {
  readonly flood: string | null;
  readonly isLimited: boolean;
  readonly soldPerSecond: number;
  /** Answers to the flood in a second, and those that nginx refused. */
  readonly floodPerSecond: number;
  readonly refusedPerSecond: number;
  readonly otherWork: number | null;
}

export interface FloodBenchmark extends BenchmarkResult {
  readonly purchasesPerSecond: number;
  readonly floodConnections: number;
  readonly rows: readonly FloodRow[];
}

export async function benchmarkFlood(bench: Bench, rate: number): Promise<FloodBenchmark> {
  const { lab, load, progress } = bench;
  const rows: FloodRow[] = [];
  const faults: string[] = [];
  const shape = lab.shape;
  const measure = async (flood: FloodRequest | null, isLimited: boolean) => {
    const limits = isLimited ? 'with' : 'without';
    const name = `${flood?.name ?? 'no flood'}, ${limits} limits`;
    const inChinese = `${flood?.inChinese ?? '没有别的请求'}，${isLimited ? '限流' : '不限流'}`;
    progress({ en: `${name} …`, zh: `${inChinese}……` });
    const { accepted, recorded, row } = await measureRow(bench, rate, flood);
    rows.push({ ...row, isLimited });
    faults.push(...faultsOfRecording(name, accepted, recorded, 0));
    faults.push(...otherAnswers(name, row.answers));
  };
  for (const isLimited of [false, true]) {
    await lab.serve({ ...shape, ...(isLimited && { limits: deploymentLimits }) });
    await measureRow(bench, rate, null); // To warm up.
    for (const flood of [null, ...floodRequests]) {
      await measure(flood, isLimited);
      if (isLimited) await sleep(forgottenAfterMs);
    }
  }
  await lab.serve(shape);
  const { instances } = shape;
  const figures = { rows, instances, faults, purchasesPerSecond: rate, floodConnections };
  return { ...figures, seconds: load.seconds, targets: [] };
}

async function measureRow(bench: Bench, rate: number, flood: FloodRequest | null) {
  const { lab, load, signal } = bench;
  const headers = headersOf(load.tokens, rate * load.seconds);
  const send = async (voucherId: string) => {
    const flooding = flood ? runFlood(lab.baseUrl, flood, load.seconds, signal) : null;
    flooding?.catch(() => {}); // It is awaited below.
    const begunMs = performance.now();
    const url = `${lab.baseUrl}${orderPath(voucherId)}`;
    const sold = await lightLoad(url, { rate, headers, addressOf }, signal);
    const sellingSeconds = (performance.now() - begunMs) / 1_000;
    return { ...sold, sellingSeconds, flooded: await flooding };
  };
  const measured = await measureOpen(bench, rung, headers.length, send);
  const { accepted, recorded, answers, p50Ms, p99Ms, otherWork, sellingSeconds, flooded } =
    measured;
  const row = {
    answers,
    p50Ms,
    p99Ms,
    otherWork,
    flood: flood?.name ?? null,
    soldPerSecond: accepted / sellingSeconds,
    floodPerSecond: flooded ? countAnswers(flooded.answers) / flooded.seconds : 0,
    refusedPerSecond: flooded ? (flooded.answers['429'] ?? 0) / flooded.seconds : 0,
  };
  return { accepted, recorded, row };
}

/** All of them are this machine. */
const addressOf = (connection: number): string => `127.1.${connection >> 8}.${connection & 255}`;

const Summary = z.object({
  microseconds: z.number().positive(),
  answers: z.record(z.string(), z.number()),
});

/**
 * From one address, for as long as purchases are due. It is a process of its own, so that it does
 * not delay the generator that measures them.
 */
async function runFlood(
  baseUrl: string,
  { method, path }: FloodRequest,
  seconds: number,
  signal: AbortSignal,
): Promise<{ readonly seconds: number; readonly answers: Answers }> {
  const options = ['--connections', String(floodConnections), '--duration', `${seconds}s`];
  const said = await runWrk('flood.lua', options, [baseUrl, '--', method, path], signal);
  const { microseconds, answers } = Summary.parse(said);
  return { seconds: microseconds / 1_000_000, answers };
}

export function floodReport(result: FloodBenchmark): Block[] {
  const { rows, seconds, instances, purchasesPerSecond, floodConnections } = result;
  const [without, limited] = [false, true].map((isLimited) =>
    rows.filter((row) => row.isLimited === isLimited),
  );
  return [
    {
      en: `${purchasesPerSecond} purchases a second beside a flood from ${floodConnections} connections`,
      zh: `每秒下单 ${purchasesPerSecond} 次，同时有 ${floodConnections} 个连接的大量干扰请求`,
    },
    floodTable({ en: 'Without limits', zh: '不限流' }, without),
    floodTable(
      {
        en: 'With the limits of a deployment for each address',
        zh: '按部署时的设置，每个地址限流',
      },
      limited,
    ),
    {
      en: `Each line is ${seconds} s, with ${instances} instances. The flood runs on the same machine.`,
      zh: `每行 ${seconds} 秒，${instances} 个实例。干扰请求来自同一台机器。`,
    },
    faultsText(result),
  ];
}

const floodTable = (title: Bilingual, rows: readonly FloodRow[] = []): Table =>
  tableOf(
    title,
    rows,
    [
      ['', ({ flood }) => flood ?? { en: 'no flood', zh: '没有干扰' }],
      [{ en: 'sold/s', zh: '卖出/秒' }, ({ soldPerSecond }) => soldPerSecond.toFixed(0)],
      ['p50 ms', ({ p50Ms }) => p50Ms.toFixed(1)],
      ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(1)],
      [{ en: 'flood/s', zh: '干扰/秒' }, ({ floodPerSecond }) => floodPerSecond.toFixed(0)],
      [{ en: 'refused/s', zh: '拒绝/秒' }, ({ refusedPerSecond }) => refusedPerSecond.toFixed(0)],
    ],
    {
      legend: {
        'flood/s': {
          en: 'answers to the flood; it sends as fast as it is answered',
          zh: '干扰请求收到的响应；收到响应就立刻再发',
        },
        'refused/s': { en: 'those of nginx: 429', zh: 'nginx 拒绝的：429' },
      },
    },
  );
