/**
 * k6/failover.js, the script that people run by hand, while the faults come at set moments. The
 * verdict is that of k6's thresholds and that of the audit.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultShape, type Lab } from '../environment/lab.ts';
import type { Fault } from '../faults/fault.ts';
import { killServer, pauseServer, stopServer } from '../faults/process.ts';
import type { Stage } from '../stage/stage.ts';
import { drained } from '../workload/drained.ts';
import { type K6Attempt, type K6Run, runK6 } from '../workload/k6.ts';
import { auditAll, keptOf } from './audited.ts';
import type { Drill, DrillOptions } from './drill.ts';
import { k6Figures, k6Verdict, voucherOf } from './k6-figures.ts';
import { type Phase, phaseOf, phaseTable } from './phases.ts';

const rung = 'lua-stream';
const secondsMin = 10;
/** What the script allows. */
const secondsMax = 300;

interface Planned {
  readonly fault: Fault;
  /** Nobody can buy meanwhile. */
  readonly isAway?: true;
  /** Of the load's time. */
  readonly atShare: number;
  readonly forMs: number;
}

/** The seed decides which instance is killed. */
const plan = (seed: number): readonly Planned[] => [
  { fault: stopServer('redis-main'), atShare: 0.1, forMs: 3_000, isAway: true },
  { fault: pauseServer('redis-main'), atShare: 0.4, forMs: 3_000, isAway: true },
  { fault: killServer(`api-${1 + (seed % defaultShape.instances)}`), atShare: 0.65, forMs: 0 },
  { fault: killServer('nginx'), atShare: 0.8, forMs: 1_000 },
];

interface PlayedFault {
  readonly name: string;
  /** By the clock of the attempts. */
  readonly from: bigint;
  readonly to: bigint;
}

export const k6Failover: Drill = {
  about: {
    en: 'k6/failover.js while redis-main, an instance and nginx are stopped, paused and killed',
    zh: 'k6/failover.js 运行时，redis-main、一个实例和 nginx 被停止、暂停、杀死',
  },
  takesMinutes: 1,
  async play(stage, options) {
    await stage.serve(defaultShape);
    const attempts: K6Attempt[] = [];
    const { run, played } = await loadWithFaults(stage, options, attempts);
    const voucherId = voucherOf(run);
    const facts = voucherId === null ? [] : [await drained(stage.connections, voucherId)];
    const audits = auditAll(facts);
    return {
      ...k6Verdict(run, audits, missedFaults(plan(options.seed), attempts, played)),
      figures: k6Figures(run),
      tables: [phaseTable(phasesOfFaults(attempts, played), 'answered')],
      ...keptOf(audits),
    };
  },
};

/** The faults begin with the first answer, and end with k6 at the latest. */
async function loadWithFaults(
  stage: Stage,
  { seed, minutes }: DrillOptions,
  attempts: K6Attempt[],
): Promise<{ run: K6Run; played: readonly PlayedFault[] }> {
  const wanted = Math.round(minutes * 60);
  const seconds = Math.min(secondsMax, Math.max(secondsMin, wanted));
  const over = new AbortController();
  let playing: Promise<PlayedFault[]> | undefined;
  const onAttempt = (attempt: K6Attempt): void => {
    if (!playing) {
      playing = playFaults(stage, seed, seconds * 1_000, over.signal);
      playing.catch(() => {}); // It is awaited when k6 has ended.
    }
    attempts.push(attempt);
    stage.emit({ kind: 'purchase', attempt }, attempt.answeredAt);
  };
  try {
    const run = await runK6('failover.js', settings(stage.lab, seconds), onAttempt, stage.signal);
    if (run.exitCode !== 0) stage.note(run.errors.trim());
    over.abort();
    const played = (await playing) ?? [];
    stage.signal.throwIfAborted();
    return { run, played };
  } finally {
    over.abort();
    await playing?.catch(() => {});
  }
}

const settings = (lab: Lab, seconds: number): Record<string, string> => ({
  ...{ BASE_URL: lab.baseUrl, TOKEN_SECRET: lab.tokenSecret },
  ...{ RUNG: rung, WORK_MS: '', RATE: '50', SECONDS: String(seconds), ANSWER_SECONDS: '5' },
});

/** Each fault at its moment, or right after the one before. The last one is undone too. */
async function playFaults(
  stage: Stage,
  seed: number,
  loadMs: number,
  over: AbortSignal,
): Promise<PlayedFault[]> {
  const startedAt = performance.now();
  const signal = AbortSignal.any([stage.signal, over]);
  const rest = (ms: number) => sleep(Math.max(0, ms), undefined, { signal }).catch(() => {});
  const restUntil = (ms: number) => rest(startedAt + ms - performance.now());
  const played: PlayedFault[] = [];
  const name = 'k6/failover.js';
  stage.emit({ kind: 'load-started', name });
  for (const { fault, atShare, forMs } of plan(seed)) {
    await restUntil(atShare * loadMs);
    if (signal.aborted) break;
    const from = process.hrtime.bigint();
    const undo = await stage.inject(fault);
    await rest(forMs);
    await undo();
    played.push({ name: fault.name, from, to: process.hrtime.bigint() });
  }
  await restUntil(loadMs);
  stage.emit({ kind: 'load-ended', name });
  return played;
}

/** A fault that was not played, or that refused nobody, has shown nothing. */
export function missedFaults(
  planned: readonly Pick<Planned, 'fault' | 'isAway'>[],
  attempts: readonly K6Attempt[],
  played: readonly PlayedFault[],
): string[] {
  return planned.flatMap(({ fault: { name }, isAway }) => {
    const own = played.find((each) => each.name === name);
    if (!own) return [`there was no ${name}`];
    const meanwhile = attempts.filter((each) => isWithin(each, own.from, own.to));
    const isNoticed = meanwhile.some(({ outcome }) => outcome !== 'accepted');
    return isAway && !isNoticed ? [`nobody was refused during ${name}`] : [];
  });
}

/** Whether it was answered in this time; without an end, since then. */
function isWithin({ answeredAt }: K6Attempt, from: bigint, to?: bigint): boolean {
  const at = BigInt(answeredAt);
  return at >= from && (to === undefined || at < to);
}

/** By when the attempts were answered: before the first fault, during each, and after it. */
function phasesOfFaults(attempts: readonly K6Attempt[], played: readonly PlayedFault[]): Phase[] {
  if (attempts.length === 0) return [];
  const between = (phase: string, from: bigint, to: bigint | undefined) => {
    const own = attempts.filter((each) => isWithin(each, from, to));
    return phaseOf(rung, phase, own);
  };
  return [
    between('before', 0n, played[0]?.from),
    ...played.flatMap(({ name, from, to }, index) => [
      between(name, from, to),
      between('after', to, played[index + 1]?.from),
    ]),
  ];
}
