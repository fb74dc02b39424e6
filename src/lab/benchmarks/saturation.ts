/** The highest rate of purchases that the service sustains, in an open model. */

import { accessSync, constants } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { z } from 'zod';
import type { Lab } from '../environment/lab.ts';
import { programPath } from '../environment/processes.ts';
import { labError } from '../errors.ts';
import type { Bilingual } from '../stage/result.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import { sumOfServers } from './cpu-by-role.ts';
import { faultsOfRecording } from './faults-of-figures.ts';
import { faultsText, medianText, otherWorkText, rangeColumn, rangeText } from './figure-text.ts';
import { type Bench, measureOpen, measureSale, type OpenLoad, warmingUp } from './measure.ts';
import { type BenchmarkResult, type Spread, spreadOf, spreadOfKnown } from './targets.ts';
import { countAnswers } from './wrk.ts';

/** A buyer does not notice it; above it, requests queue in front of the instances. */
export const mostP99Ms = 50;

export interface SaturationStep extends K6Result, OpenLoad {
  readonly rate: number;
  readonly seconds: number;
  /** Why this measurement is not good; empty when it is. */
  readonly reasons: readonly string[];
  readonly isGood: boolean;
}

interface Saturation extends BenchmarkResult {
  readonly rung: string;
  readonly mostP99Ms: number;
  /** The headline: its rate was good in two of at most three measurements. Null: none was. */
  readonly best: number | null;
  readonly steps: readonly SaturationStep[];
}

/** The first rate is above what two cores sustain: it warms up instances that have just started. */
const limits: RateLimits = { first: 1_500, least: 10, most: 50_000 };

/** Of a measurement. With fewer, the p99 is the slowest request or the one before it. */
const requestsMin = 500;

export async function saturate(
  bench: Bench,
  rung: string,
  first = limits.first,
): Promise<Saturation> {
  bench.progress(warmingUp);
  await measureSale(bench, rung);
  let firstUser = bench.load.tokens.count + 1;
  const measure = async (rate: number): Promise<SaturationStep> => {
    const seconds = Math.max(bench.load.seconds, Math.ceil(requestsMin / rate));
    const step = await measureRate(bench, rung, { rate, seconds, firstUser });
    firstUser += rate * seconds;
    const p99 = `p99 ${step.p99Ms.toFixed(0)} ms`;
    const reasons = step.reasons.join('; ');
    bench.progress({
      en: `${rate} requests/s: ${p99}, ${step.isGood ? 'good' : reasons}`,
      zh: `每秒 ${rate} 个请求：${p99}，${step.isGood ? '达标' : reasons}`,
    });
    return step;
  };
  const { best, steps } = await searchRate(measure, { ...limits, first });
  const faults = steps.flatMap(faultsOfStep);
  if (best === null) faults.push(`no rate from ${limits.least} requests/s on was sustained`);
  const { seconds } = bench.load;
  const { instances } = bench.lab.shape;
  return { rung, seconds, instances, mostP99Ms, best, steps, targets: [], faults };
}

export async function measureRate(
  { lab, connections, signal }: Pick<Bench, 'lab' | 'connections' | 'signal'>,
  rung: string,
  load: Omit<K6Load, 'voucherId'>,
): Promise<SaturationStep> {
  signal.throwIfAborted();
  const { rate, seconds } = load;
  const due = rate * seconds;
  const measured = await measureOpen({ lab, connections }, rung, due, (voucherId) =>
    runK6Load(lab, { ...load, voucherId }, signal),
  );
  const reasons = reasonsAgainst(measured, due);
  return { ...measured, rate, seconds, reasons, isGood: reasons.length === 0 };
}

/** @param due how many requests should have been sent. */
export function reasonsAgainst(
  { answers, dropped, p99Ms }: Pick<K6Result, 'answers' | 'dropped' | 'p99Ms'>,
  due: number,
): string[] {
  const reasons: string[] = [];
  const answered = countAnswers(answers);
  if (dropped > 0) reasons.push(`${dropped} dropped`);
  else if (answered < due * 0.99) reasons.push(`${answered} of ${due} sent`);
  if (!(p99Ms <= mostP99Ms)) reasons.push(`p99 above ${mostP99Ms} ms`);
  for (const [code, count] of Object.entries(answers))
    if (code !== 'accepted') reasons.push(`${count} ${code}`);
  return reasons;
}

/** Refusals that have no reason at any rate: there is stock, and each user asks once. */
const neverRight = ['sold-out', 'already-ordered', 'not-started', 'ended', 'unexpected'];

/** At any rate, no accepted order is lost. An order whose outcome is unknown may exist. */
export function faultsOfStep(
  step: Pick<SaturationStep, 'rate' | 'answers' | 'accepted' | 'recorded'>,
): string[] {
  const { rate, answers, accepted, recorded } = step;
  const { unknown = 0 } = answers;
  const name = `${rate} requests/s`;
  const wrong = Object.entries(answers).filter(([code]) => neverRight.includes(code));
  return [
    ...wrong.map(([code, count]) => `${name}: ${count} ${code}`),
    ...faultsOfRecording(name, accepted, recorded, unknown),
  ];
}

export function saturationReport(result: Saturation): Block[] {
  const { best, steps, mostP99Ms, seconds, instances } = result;
  const rates = [...new Set(steps.map(({ rate }) => rate))].sort((one, other) => one - other);
  const rows = rates.map((rate) => ({ rate, isBest: rate === best, all: stepsOf(steps, rate) }));
  const legend = {
    good: {
      en: `measurements with p99 ≤ ${mostP99Ms} ms, and nothing dropped or refused; two of at most three decide`,
      zh: `p99 ≤ ${mostP99Ms} ms、没有丢弃也没有拒绝的测量；最多测三次，两次合格才算`,
    },
    '★': { en: 'the highest rate that is sustained', zh: '能持续的最高速率' },
  };
  const other = otherWorkText(spreadOfKnown(steps.map(({ otherWork }) => otherWork)));
  return [
    headline(result),
    tableOf('', rows, rateColumns, { legend }),
    {
      en: `Medians. Open model: k6 with constant-arrival-rate; a measurement has at least
${seconds} s and ${requestsMin} requests, each by another user; ${instances} instances
behind one nginx. A latency counts from the moment at which the request was due.
k6 is on the same machine: its CPU is not left for the service.
${other.en}`,
      zh: `中位数。开放模型：k6 的 constant-arrival-rate；每次测量至少 ${seconds} 秒、
${requestsMin} 个请求，每个请求一个新用户；一个 nginx 后面 ${instances} 个实例。
响应时间从请求该发出的时刻算起。k6 在同一台机器上，占用的 CPU 服务用不到。
${other.zh}`,
    },
    faultsText(result),
  ];
}

const stepsOf = (steps: readonly SaturationStep[], wanted: number): SaturationStep[] =>
  steps.filter(({ rate }) => rate === wanted);

function headline({ rung, best, steps }: Saturation): Bilingual {
  if (best === null) return { en: `${rung} sustains no rate`, zh: `${rung} 没有能持续的速率` };
  const measured = stepsOf(steps, best);
  const p99 = spreadOf(measured.map(({ p99Ms }) => p99Ms));
  const servers = measured.map(({ cpu }) => sumOfServers(cpu));
  const cores = (microseconds: readonly (number | null)[]) =>
    coresText(spreadOfKnown(microseconds), best);
  const load = cores(measured.map(({ cpu }) => cpu.load));
  const tail = `${p99.median.toFixed(1)} ms (${rangeText(p99, 1)})`;
  return {
    en: `${rung} sustains ${best} purchases/s: p99 ${tail}
At that rate, all servers together use ${cores(servers)} cores, and k6 uses ${load}.`,
    zh: `${rung} 能持续每秒下单 ${best} 次：p99 ${tail}
此时所有服务器共用 ${cores(servers)} 个核，k6 用 ${load} 个。`,
  };
}

const coresText = (microseconds: Spread | null, rate: number): string =>
  microseconds === null ? '?' : ((microseconds.median * rate) / 1e6).toFixed(2);

/** All measurements of one rate. */
interface RateRow {
  readonly rate: number;
  readonly isBest: boolean;
  readonly all: readonly SaturationStep[];
}

const median = ({ all }: RateRow, figure: (step: SaturationStep) => number): string =>
  spreadOf(all.map(figure)).median.toFixed(0);
const cpuOf = ({ all }: RateRow, role: 'api' | 'load'): string =>
  medianText(spreadOfKnown(all.map(({ cpu }) => cpu[role])));

const goodText = ({ all, isBest }: RateRow): string =>
  `${all.filter(({ isGood }) => isGood).length} of ${all.length}${isBest ? ' ★' : ''}`;

const rateColumns: readonly Column<RateRow>[] = [
  [{ en: 'rate/s', zh: '速率/秒' }, ({ rate }) => rate],
  [
    { en: 'accepted/s', zh: '受理/秒' },
    (row) => median(row, ({ accepted, seconds }) => accepted / seconds),
  ],
  [{ en: 'dropped', zh: '丢弃' }, (row) => median(row, ({ dropped }) => dropped)],
  ['p50 ms', (row) => median(row, ({ p50Ms }) => p50Ms)],
  ['p99 ms', (row) => median(row, ({ p99Ms }) => p99Ms)],
  rangeColumn(({ all }) => spreadOf(all.map(({ p99Ms }) => p99Ms))),
  ['api µs', (row) => cpuOf(row, 'api')],
  ['k6 µs', (row) => cpuOf(row, 'load')],
  [{ en: 'good', zh: '合格' }, goodText],
];

export interface RateLimits {
  readonly first: number;
  /** Below it, the search gives up. */
  readonly least: number;
  readonly most: number;
}

const growth = 1.5;
/** Past the knee, for the curve. */
const beyond = 1.25;
/** The search ends when the next higher rate, which is not good, is nearer than this. */
const precision = 1.1;

/** Two of at most three measurements decide: neither one hiccup nor luck is a knee. */
const majority = 2;

/**
 * Finds the highest rate that is good in most of its measurements, and measures some rates above
 * it. The best is null when none was good; the steps are in the order they were measured.
 */
export async function searchRate<Step extends Pick<SaturationStep, 'rate' | 'isGood'>>(
  measure: (rate: number) => Promise<Step>,
  { first, least, most }: RateLimits,
) {
  const steps: Step[] = [];
  const isGood = async (rate: number): Promise<boolean> => {
    const step = await measure(rate);
    steps.push(step);
    return step.isGood;
  };
  const isSustained = async (rate: number): Promise<boolean> => {
    const counts = { good: 0, bad: 0 };
    while (counts.good < majority && counts.bad < majority)
      counts[(await isGood(rate)) ? 'good' : 'bad'] += 1;
    return counts.good === majority;
  };

  let good = 0;
  let bad = Math.round(first);
  while (bad <= most && (await isSustained(bad))) [good, bad] = [bad, Math.round(bad * growth)];
  if (bad <= most) await isGood(Math.round(bad * beyond));
  while (good === 0 && bad / growth >= least) {
    const lower = Math.round(bad / growth);
    if (await isSustained(lower)) good = lower;
    else bad = lower;
  }
  while (good > 0 && bad / good > precision) {
    const between = Math.round(Math.sqrt(good * bad));
    if (between === good || between === bad) break;
    if (await isSustained(between)) good = between;
    else bad = between;
  }
  return { best: good === 0 ? null : good, steps };
}

const root = fileURLToPath(new URL('../../../', import.meta.url));

const K6Result = z.object({
  answers: z.record(z.string(), z.number()),
  /** Requests that were due and not sent: no virtual user was free. */
  dropped: z.number(),
  /** From the moment at which a request was due. */
  p50Ms: z.number(),
  p99Ms: z.number(),
  mostMs: z.number(),
});
type K6Result = Readonly<z.output<typeof K6Result>>;

export interface K6Load {
  readonly rate: number;
  readonly seconds: number;
  readonly voucherId: string;
  /** The users are numbered from it, one for each request. */
  readonly firstUser: number;
}

/** The requests are due at a fixed rate, however slow the service is. k6 signs their tokens. */
async function runK6Load(
  { baseUrl, tokenSecret }: Pick<Lab, 'baseUrl' | 'tokenSecret'>,
  { rate, seconds, voucherId, firstUser }: K6Load,
  signal: AbortSignal,
): Promise<K6Result> {
  const env = {
    K6_NO_USAGE_REPORT: 'true',
    BASE_URL: baseUrl,
    TOKEN_SECRET: tokenSecret,
    RATE: String(rate),
    SECONDS: String(seconds),
    VOUCHER: voucherId,
    FIRST_USER: String(firstUser),
  };
  const { stdout } = await execa(k6Path(), ['run', '--quiet', 'bench/saturate.js'], {
    cwd: root,
    env,
    stdin: 'ignore',
    cancelSignal: signal,
  });
  return K6Result.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
}

/** Of `npm run setup -- --with-k6`, or on PATH. @throws PROGRAM_MISSING */
function k6Path(): string {
  const own = `${root}.lockstep/bin/k6`;
  try {
    accessSync(own, constants.X_OK);
    return own;
  } catch {
    return onPath();
  }
}

function onPath(): string {
  try {
    return programPath('k6');
  } catch {
    throw labError('PROGRAM_MISSING', 'k6', 'npm run setup -- --with-k6');
  }
}
