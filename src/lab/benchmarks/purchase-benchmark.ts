/** What a purchase costs beside a request that does nothing: both through the same nginx, instances and tokens. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { z } from 'zod';
import { signToken } from '../../http/tokens.ts';
import { programPath } from '../environment/processes.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { putOnSale } from '../workload/create-voucher.ts';

export interface Measured {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers that were not 2xx, and requests without an answer. */
  readonly refused: number;
  readonly broken: number;
}

export interface Benchmark {
  readonly seconds: number;
  readonly connections: number;
  readonly rounds: number;
  readonly noop: Measured;
  readonly purchase: Measured;
  /** purchase ÷ no-op, in requests per second. */
  readonly ratio: number;
  /** The most orders that waited while purchases came in, and how long the last one waited for MySQL. */
  readonly drain: { readonly deepest: number; readonly lagMs: number };
}

export interface BenchmarkPlace {
  readonly baseUrl: string;
  readonly tokenSecret: string;
  readonly instances: number;
  readonly seconds: number;
  readonly connections: number;
  /** How many accepted orders are not in MySQL yet. */
  readonly depth: () => Promise<number>;
  readonly folder: string;
  /** Ends the benchmark between two measurements. */
  readonly signal: AbortSignal;
}

const script = fileURLToPath(new URL('../../../bench/wrk.lua', import.meta.url));
const warmUpSeconds = 6; // Node compiles what is hot only after thousands of requests.
/** The two take turns, because a machine's speed drifts; the middle round counts. */
const rounds = 3;
/** More purchases than this in a second would meet a user a second time; they then count as refused. */
const usersPerSecond = 10_000;
const stock = 10_000_000;

export async function benchmark(
  place: BenchmarkPlace,
  tell: (event: string) => void,
): Promise<Benchmark> {
  const { baseUrl, seconds, depth } = place;
  const load = (url: string, forSeconds: number) => wrk(url, tokens, place.connections, forSeconds);
  tell('Signing a token for each purchase …');
  const tokens = await writeTokens(place, usersPerSecond * Math.max(seconds, warmUpSeconds));
  const onSale = await saleUrl(place);
  const noop = `${baseUrl}/lab/noop`;
  tell('Warming up …');
  await load(noop, warmUpSeconds);
  await load(onSale, warmUpSeconds);
  await emptied(depth);
  const noops: Measured[] = [];
  const purchases: Measured[] = [];
  const drain = { deepest: 0, lagMs: 0 };
  const watch = watchDepth(depth);
  for (let round = 1; round <= rounds; round++) {
    place.signal.throwIfAborted();
    tell(`Round ${round} of ${rounds}: ${seconds} s each …`);
    noops.push(await load(noop, seconds));
    purchases.push(await load(await saleUrl(place), seconds));
    const endedAt = performance.now();
    await emptied(depth);
    drain.lagMs = Math.max(drain.lagMs, Math.round(performance.now() - endedAt));
  }
  drain.deepest = watch.stop();
  const [noopMedian, purchase] = [median(noops), median(purchases)];
  const ratio = Math.round((purchase.requestsPerSecond / noopMedian.requestsPerSecond) * 100) / 100;
  return {
    seconds,
    connections: place.connections,
    rounds,
    noop: noopMedian,
    purchase,
    ratio,
    drain,
  };
}

/** The middle one by rate. */
function median(measured: readonly Measured[]): Measured {
  const sorted = measured.toSorted((a, b) => a.requestsPerSecond - b.requestsPerSecond);
  return sorted[Math.floor(sorted.length / 2)] as Measured;
}

async function writeTokens(
  { tokenSecret, folder }: BenchmarkPlace,
  count: number,
): Promise<string> {
  const users = Array.from({ length: count }, (_, index) => String(index + 1));
  const tokens = await Promise.all(users.map((userId) => signToken(tokenSecret, userId, 'user')));
  const file = join(folder, 'bench-tokens.txt');
  writeFileSync(file, `${tokens.join('\n')}\n`);
  return file;
}

/** @returns where a new voucher is bought. */
async function saleUrl({ baseUrl, tokenSecret, instances }: BenchmarkPlace): Promise<string> {
  const sale = { title: 'benchmark', stock, rung: 'lua-stream', workMs: 0 };
  const id = await putOnSale(baseUrl, tokenSecret, instances, sale);
  return `${baseUrl}/vouchers/${id}/orders`;
}

const WrkSummary = z.object({
  requests: z.number(),
  microseconds: z.number(),
  refused: z.number(),
  broken: z.number(),
  p50: z.number(),
  p99: z.number(),
});

async function wrk(
  url: string,
  tokens: string,
  connections: number,
  seconds: number,
): Promise<Measured> {
  const load = [
    '--threads',
    '1',
    '--connections',
    String(connections),
    '--duration',
    `${seconds}s`,
    '--script',
    script,
  ];
  const { stdout } = await execa(programPath('wrk'), [...load, url, '--', tokens]);
  const { requests, microseconds, refused, broken, p50, p99 } = WrkSummary.parse(
    JSON.parse(stdout.trim().split('\n').at(-1) ?? ''),
  );
  const requestsPerSecond = Math.round(requests / (microseconds / 1_000_000));
  return { requestsPerSecond, p50Ms: p50 / 1_000, p99Ms: p99 / 1_000, refused, broken };
}

const emptied = (depth: () => Promise<number>): Promise<void> =>
  waitUntil('the workers to record every order', 300_000, async () => (await depth()) === 0);

function watchDepth(depth: () => Promise<number>): { stop: () => number } {
  let deepest = 0;
  const timer = setInterval(async () => {
    deepest = Math.max(deepest, await depth().catch(() => 0));
  }, 100);
  const stop = () => {
    clearInterval(timer);
    return deepest;
  };
  return { stop };
}
