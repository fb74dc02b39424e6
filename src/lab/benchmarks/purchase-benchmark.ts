/**
 * The cost of a purchase, compared with a request that does nothing. Both go through the same nginx
 * and instances, with the same tokens.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { z } from 'zod';
import { signToken } from '../../http/tokens.ts';
import type { Progress } from '../environment/lab.ts';
import { programPath } from '../environment/processes.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { type NewSale, putOnSale } from '../workload/create-voucher.ts';

export interface Measured {
  readonly requestsPerSecond: number;
  /** Answers with 2xx. */
  readonly accepted: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers other than 2xx. */
  readonly refused: number;
  /** Requests without an answer. */
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
  /** The largest depth of the queue, and the time from the last purchase until it was empty. */
  readonly drain: { readonly deepest: number; readonly lagMs: number };
  /**
   * Why the figures do not count; empty when each request was accepted, and each order recorded.
   */
  readonly faults: readonly string[];
}

export interface BenchmarkSetup {
  readonly baseUrl: string;
  readonly tokenSecret: string;
  readonly instances: number;
  readonly seconds: number;
  readonly connections: number;
  /** The number of accepted orders that are not in MySQL yet. */
  readonly depth: () => Promise<number>;
  /** The number of confirmed orders of a voucher. */
  readonly recorded: (voucherId: string) => Promise<number>;
  readonly folder: string;
  /** Stops the benchmark between two rounds. */
  readonly signal: AbortSignal;
}

const script = fileURLToPath(new URL('../../../bench/wrk.lua', import.meta.url));
/** Node compiles the hot code only after thousands of requests. */
const warmUpSeconds = 6;
/** The two alternate, because the speed of a machine drifts. The median counts. */
const rounds = 3;
/** With more purchases than this in a second, users repeat; their second purchases are refused. */
const usersPerSecond = 10_000;
const stock = 10_000_000;

export async function benchmark(setup: BenchmarkSetup, progress: Progress): Promise<Benchmark> {
  const { seconds, connections } = setup;
  progress('Signing a token for each purchase …');
  const tokens = await writeTokens(setup, usersPerSecond * Math.max(seconds, warmUpSeconds));
  progress('Warming up …');
  const noop = `${setup.baseUrl}/lab/noop`;
  const { url: warmUpSale } = await createSale(setup);
  await wrk(noop, tokens, connections, warmUpSeconds);
  await wrk(warmUpSale, tokens, connections, warmUpSeconds);
  await queueDrained(setup.depth);
  const depth = watchDepth(setup.depth);
  const measured = await measureRounds(setup, noop, tokens, progress);
  const drain = { deepest: depth.stop(), lagMs: Math.max(...measured.map(({ lagMs }) => lagMs)) };
  const medianNoop = median(measured.map((round) => round.noop));
  const medianPurchase = median(measured.map((round) => round.purchase));
  const ratio = medianPurchase.requestsPerSecond / medianNoop.requestsPerSecond;
  return {
    seconds,
    connections,
    rounds,
    noop: medianNoop,
    purchase: medianPurchase,
    ratio: Math.round(ratio * 100) / 100,
    drain,
    faults: measured.flatMap((round) => faultsOf(round, connections)),
  };
}

export interface Round {
  readonly noop: Measured;
  readonly purchase: Measured;
  readonly lagMs: number;
  readonly recorded: number;
}

/**
 * A fast refusal must not count as a fast purchase, and an accepted order counts once it is
 * recorded.
 */
export function faultsOf({ noop, purchase, recorded }: Round, connections: number): string[] {
  const faults: string[] = [];
  for (const [name, { refused, broken }] of Object.entries({ noop, purchase }))
    if (refused + broken > 0) faults.push(`${name}: ${refused} refused, ${broken} broken`);
  // At the end of the load, each connection may have one purchase whose answer is not counted.
  const most = purchase.accepted + connections;
  if (recorded < purchase.accepted || recorded > most)
    faults.push(`${purchase.accepted} orders accepted, ${recorded} recorded`);
  return faults;
}

async function measureRounds(
  setup: BenchmarkSetup,
  noop: string,
  tokens: string,
  progress: Progress,
): Promise<Round[]> {
  const { seconds, connections, signal, depth } = setup;
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    signal.throwIfAborted();
    progress(`Round ${round} of ${rounds}: ${seconds} s for each …`);
    const noopRound = await wrk(noop, tokens, connections, seconds);
    const { id, url } = await createSale(setup);
    const purchase = await wrk(url, tokens, connections, seconds);
    const endedAt = performance.now();
    await queueDrained(depth);
    const lagMs = Math.round(performance.now() - endedAt);
    const recorded = await setup.recorded(id);
    measured.push({ noop: noopRound, purchase, lagMs, recorded });
  }
  return measured;
}

/** The measurement with the middle rate. */
function median(measured: readonly Measured[]): Measured {
  const sorted = measured.toSorted((a, b) => a.requestsPerSecond - b.requestsPerSecond);
  return sorted[Math.floor(sorted.length / 2)] as Measured;
}

async function writeTokens(
  { tokenSecret, folder }: BenchmarkSetup,
  count: number,
): Promise<string> {
  const users = Array.from({ length: count }, (_, index) => String(index + 1));
  const tokens = await Promise.all(users.map((userId) => signToken(tokenSecret, userId, 'user')));
  const file = join(folder, 'bench-tokens.txt');
  writeFileSync(file, `${tokens.join('\n')}\n`);
  return file;
}

interface Sale {
  readonly id: string;
  readonly url: string;
}

async function createSale({ baseUrl, tokenSecret, instances }: BenchmarkSetup): Promise<Sale> {
  const sale: NewSale = { title: 'benchmark', stock, rung: 'lua-stream' };
  const id = await putOnSale(baseUrl, tokenSecret, instances, sale);
  return { id, url: `${baseUrl}/vouchers/${id}/orders` };
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
  return {
    requestsPerSecond,
    accepted: requests - refused,
    p50Ms: p50 / 1_000,
    p99Ms: p99 / 1_000,
    refused,
    broken,
  };
}

const queueDrained = (depth: () => Promise<number>): Promise<void> =>
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
