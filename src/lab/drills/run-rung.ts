/**
 * One rung, one rush, one audit: create a voucher, rush it through nginx, wait for the drain, check
 * everything.
 */

import {
  type Audit,
  audit,
  type Proof,
  proofsOf,
  unknownUnlessTried,
} from '../../service/audit/audit.ts';
import { confirmed, type Facts, usersWithSeveralOrders } from '../../service/audit/facts.ts';
import { readHistory } from '../../service/audit/read-history.ts';
import { type MysqlRefusals, mysqlRefusals } from '../../service/audit/sections.ts';
import type { Verdict } from '../../service/domain.ts';
import { type Claim, claimOf } from '../../service/ladder/rung.ts';
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import { findingTexts } from '../../texts/evidence.ts';
import type { Bilingual } from '../../texts/texts.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { countBy, sum } from '../stage/counts.ts';
import type { Experiment, Stage } from '../stage/stage.ts';
import { drained } from '../workload/drained.ts';
import { percentiles } from '../workload/percentiles.ts';
import { warmUp } from '../workload/rush.ts';
import { provideFor } from '../workload/sale.ts';

export interface RunRequest extends ServiceShape {
  readonly rung: RungName;
  readonly users: number;
  readonly stock: number;
  readonly seed: number;
  /** Time between check and write, in milliseconds: it makes races show without luck. */
  readonly workMs: number;
  /** How often an optimistic sale is tried again after a conflict. */
  readonly retries: number;
  /** Every tenth user sends so many requests at once; the others send one. */
  readonly requestsPerEagerUser: number;
  /** Pauses at checkpoints: `after-check:1:500` (play/pauses.ts). */
  readonly pauses: readonly string[];
}

/** What `lockstep run --json` prints. */
export interface RunResult extends RunRequest {
  readonly voucherId: string;
  readonly attempts: Readonly<Record<'accepted' | 'refused' | 'unknown', number>>;
  /** The retries of all accepted attempts. */
  readonly retried: number;
  readonly refusedBecause: Readonly<Record<string, number>>;
  readonly refusedByMysql: MysqlRefusals;
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

export async function runRung(request: RunRequest, stage: Stage): Promise<Run> {
  const { rung, stock, workMs, retries, instances, users, seed, requestsPerEagerUser, pauses } =
    request;
  await stage.serve(request);
  await provideFor(stage.lab, rung);
  await warmUp(stage.lab, request, stage.connections);
  const title = `${rung} on ${instances}, seed ${seed}`;
  const voucherId = await stage.putOnSale({ title, stock, rung, lab: { workMs, retries } });
  const startedAt = performance.now();
  const attempts = await stage.rush({ voucherId, users, seed, requestsPerEagerUser, pauses });
  const collected = await drained(stage.connections, voucherId);
  const seconds = (performance.now() - startedAt) / 1_000;
  const facts = { ...collected, attempts, ...readHistory(stage.lab.historyFolder, voucherId) };
  const claim = claimOf(rungNamed(rung), instances);
  const audited = unknownUnlessTried(!isStarved(facts), audit(facts));
  const result = summarize(request, facts, audited, claim, seconds);
  return { result, claim, audit: audited, facts, proofs: proofsOf(audited, facts) };
}

export const runExperiment: Experiment<RunRequest, Run> = {
  about: {
    en: 'one rung, one rush, one audit',
    zh: '一个方案，一次抢购，一次审计',
  },
  play: async (stage, request) => {
    const run = await runRung(request, stage);
    const { result, audit, facts } = run;
    const missed = pausesReached(run)
      ? []
      : [{ en: 'a request that should pause did not come', zh: '该暂停的请求没有来' }];
    return {
      verdict: missed.length > 0 ? 'unknown' : result.verdict,
      isAsClaimed: result.asClaimed,
      reasons: [...missed, ...reasonsOf(audit)],
      figures: {},
      facts: [facts],
      own: run,
    };
  },
};

export const pausesReached = ({ result: { pauses }, facts: { history = [] } }: Run): boolean =>
  pauses.every((pause) =>
    history.some(({ event, reason }) => event === 'paused' && reason === pause),
  );

const reasonsOf = ({ findings }: Audit): Bilingual[] =>
  findings.filter(({ verdict }) => verdict !== 'held').map(findingTexts);

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
  const refusals = attempts.filter(({ outcome }) => outcome === 'refused');
  return {
    ...request,
    voucherId,
    attempts: { accepted: 0, refused: 0, unknown: 0, ...outcomes },
    retried: sum(attempts.map(({ tries = 1 }) => tries - 1)),
    refusedBecause: countBy(refusals.map(({ reason = 'no reason' }) => reason)),
    refusedByMysql: mysqlRefusals(facts),
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

/** Not `database-busy`: of optimistic and serializable sales, MySQL aborts some. */
const faultsOfService: readonly string[] = [
  ...['not-ready', 'overloaded', 'queue-full', 'lock-service-unavailable'],
];

/** Stock was left, and the service refused buyers without a fault: the rung was not tried. */
export const isStarved = ({ attempts = [], mysql }: Facts): boolean =>
  mysql.stock > 0 &&
  attempts.some(
    ({ outcome, reason = '' }) => outcome === 'refused' && faultsOfService.includes(reason),
  );

/**
 * The claimed verdict, and for the claimed reasons: a violation of another check is another fault.
 */
export function isAsClaimed({ verdict, findings }: Audit, claim: Claim): boolean {
  const checksWith = (wanted: Verdict) =>
    findings.filter((finding) => finding.verdict === wanted).map(({ check }) => check);
  const violated = checksWith('violated');
  const claimed = new Set(claim.breaks.map(({ check }) => check));
  if (verdict !== claim.verdict || checksWith('unknown').length > 0) return false;
  return violated.length === claimed.size && violated.every((check) => claimed.has(check));
}
