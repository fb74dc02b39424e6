/** One rung, one rush, one audit: put a voucher on sale, rush it through nginx, wait for the drain, check everything. */
import { createHistogram } from 'node:perf_hooks';
import { type Audit, audit } from '../audit/audit.ts';
import { counterExamples, type Proof } from '../audit/counter-example.ts';
import { confirmed, type Facts, usersWithSeveralOrders } from '../audit/facts.ts';
import { readHistory } from '../audit/history.ts';
import type { Connections } from '../connections/connections.ts';
import type { Verdict } from '../domain.ts';
import type { Lab } from '../lab/lab.ts';
import type { ServiceShape } from '../lab/servers/service.ts';
import { type Claim, claimOf, type RungName, rungNamed } from '../ladder.ts';
import { putOnSale } from './operator.ts';
import { drained, rehearse } from './rehearse.ts';
import { rush } from './rush.ts';

export interface RunRequest extends ServiceShape {
  readonly rung: RungName;
  readonly users: number;
  readonly stock: number;
  readonly seed: number;
  /** Time between check and write, in milliseconds: what makes the natural races show without luck. */
  readonly workMs: number;
  /** How often an optimistic sale that lost is tried again. */
  readonly retries: number;
  /** One user in ten sends so many requests at once; the others one. */
  readonly insistence: number;
  /** Who waits where: `after-check:1:500` (races/holds.ts). */
  readonly holds: readonly string[];
}

/** What `lockstep run --json` prints. */
export interface RunResult extends RunRequest {
  readonly voucherId: string;
  readonly attempts: Readonly<Record<'accepted' | 'refused' | 'unknown', number>>;
  /** How many more tries than one the accepted attempts needed. */
  readonly retried: number;
  readonly refusedBecause: Readonly<Record<string, number>>;
  readonly orders: number;
  readonly stockLeft: number;
  readonly oversoldBy: number;
  readonly usersWithTwoOrders: number;
  readonly ordersPerSecond: number;
  readonly latencyMs: { readonly p50: number; readonly p99: number };
  readonly verdict: Verdict;
  readonly claim: Verdict;
  readonly asClaimed: boolean;
}

export interface Run {
  readonly proofs: readonly Proof[];
  readonly result: RunResult;
  readonly claim: Claim;
  readonly audit: Audit;
  readonly facts: Facts;
}

export async function runRung(
  request: RunRequest,
  { baseUrl, historyFolder }: Pick<Lab, 'baseUrl' | 'historyFolder'>,
  connections: Connections,
): Promise<Run> {
  const { rung, stock, workMs, retries, instances, users, seed, insistence, holds } = request;
  const tokenSecret = connections.config.TOKEN_SECRET;
  const sale = { title: `${rung} on ${instances}, seed ${seed}`, stock, rung, workMs, retries };
  await rehearse(request, baseUrl, connections);
  const voucherId = await putOnSale(baseUrl, tokenSecret, instances, sale);
  const startedAt = performance.now();
  const attempts = await rush({ baseUrl, tokenSecret, voucherId, users, seed, insistence, holds });
  const collected = await drained(connections, voucherId);
  const seconds = (performance.now() - startedAt) / 1_000;
  const facts = { ...collected, attempts, history: readHistory(historyFolder, voucherId) };
  const claim = claimOf(rungNamed(rung), instances);
  const audited = audit(facts);
  const proofs = counterExamples(audited, facts);
  return { result: summarize(request, facts, audited, claim, seconds), claim, audit: audited, facts, proofs };
}

function summarize(
  request: RunRequest,
  facts: Facts,
  audited: Audit,
  claim: Claim,
  seconds: number,
): RunResult {
  const { attempts = [], mysql, initialStock, voucherId } = facts;
  const orders = confirmed(facts).length;
  const outcomes = countBy(attempts.map(({ outcome }) => outcome));
  return {
    ...request,
    voucherId,
    attempts: { accepted: 0, refused: 0, unknown: 0, ...outcomes },
    retried: attempts.reduce((sum, { tries = 1 }) => sum + tries - 1, 0),
    refusedBecause: countBy(
      attempts.flatMap(({ outcome, reason }) => (outcome === 'refused' && reason ? [reason] : [])),
    ),
    orders,
    stockLeft: mysql.stock,
    oversoldBy: Math.max(0, orders - initialStock),
    usersWithTwoOrders: usersWithSeveralOrders(facts),
    ordersPerSecond: Math.round(orders / seconds),
    latencyMs: percentiles(attempts.map(({ latencyMs }) => latencyMs)),
    verdict: audited.verdict,
    claim: claim.verdict,
    asClaimed: isAsClaimed(audited, claim),
  };
}

/** The verdict, and for the reasons that the ladder gives: another check violated is another mistake. */
export function isAsClaimed({ verdict, findings }: Audit, claim: Claim): boolean {
  const named = (wanted: Verdict) =>
    findings.filter((finding) => finding.verdict === wanted).map(({ check }) => check);
  const violated = named('violated');
  const claimed = new Set(claim.breaks.map(({ check }) => check));
  if (verdict !== claim.verdict || named('unknown').length > 0) return false;
  return violated.length === claimed.size && violated.every((check) => claimed.has(check));
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function percentiles(milliseconds: readonly number[]): { p50: number; p99: number } {
  if (milliseconds.length === 0) return { p50: 0, p99: 0 };
  const histogram = createHistogram();
  for (const value of milliseconds) histogram.record(Math.max(1, Math.round(value * 1_000)));
  const at = (percentile: number) => Math.round(histogram.percentile(percentile) / 100) / 10;
  return { p50: at(50), p99: at(99) };
}
