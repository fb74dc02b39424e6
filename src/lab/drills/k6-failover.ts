/**
 * k6/failover.js, the script that people run by hand, while the faults come at set moments. The
 * verdict is that of k6's thresholds and that of the audit. It is no row of the outage: k6 ends by
 * itself, and says neither when an attempt was sent nor which order it became.
 */
import type { Bilingual } from '../../texts/texts.ts';
import { defaultShape } from '../environment/lab.ts';
import type { Fault } from '../faults/fault.ts';
import { killServer, pauseServer, stopServer } from '../faults/process.ts';
import { type Judged, ofName, type Text } from '../stage/result.ts';
import type { InjectedFault } from '../stage/stage.ts';
import { drained } from '../workload/drained.ts';
import type { K6Attempt, K6Run } from '../workload/k6.ts';
import { auditAll, type SaleAudit } from './audited.ts';
import type { Drill } from './drill.ts';
import { type Found, judgeAudits, nobodyBought, thereWasNo, unless } from './expectations.ts';
import { duringK6, k6SecondsMax } from './k6-load.ts';
import { type Phase, phaseNames, phaseOf, phaseTable } from './phases.ts';
import { playStorm, type StormFault } from './under-fire.ts';

const rung = 'lua-stream';
const secondsMin = 10;

interface TimedFault {
  readonly fault: Fault;
  /** Nobody can buy meanwhile. */
  readonly isAway?: true;
  /** Of the load's time. */
  readonly atShare: number;
  readonly forMs: number;
}

/** The seed decides which instance is killed. */
const plan = (seed: number): readonly TimedFault[] => [
  { fault: stopServer('redis-main'), atShare: 0.1, forMs: 3_000, isAway: true },
  { fault: pauseServer('redis-main'), atShare: 0.4, forMs: 3_000, isAway: true },
  { fault: killServer(`api-${1 + (seed % defaultShape.instances)}`), atShare: 0.65, forMs: 0 },
  { fault: killServer('nginx'), atShare: 0.8, forMs: 1_000 },
];

export const k6Failover: Drill = {
  about: {
    en: 'k6/failover.js while redis-main, an instance and nginx are stopped, paused and killed',
    zh: 'k6/failover.js 运行时，redis-main、一个实例和 nginx 被停止、暂停、杀死',
  },
  takesMinutes: 1,
  async play(stage, { seed, minutes }) {
    await stage.serve(defaultShape);
    const seconds = Math.min(k6SecondsMax, Math.max(secondsMin, Math.round(minutes * 60)));
    const load = { name: 'k6/failover.js', rung, perSecond: 50, lastsMs: seconds * 1_000 };
    const over = new AbortController();
    const breaking = () => playStorm(stage, faultsAt(plan(seed), load.lastsMs), over.signal);
    const { run, answers } = await duringK6(stage, load, breaking, over);
    if (run.exitCode !== 0) stage.note({ en: run.errors.trim(), zh: run.errors.trim() });
    stage.signal.throwIfAborted();
    const voucherId = voucherOf(run);
    const facts = voucherId === null ? [] : [await drained(stage.connections, voucherId)];
    return {
      ...judgeK6(run, auditAll(facts), missedFaults(plan(seed), answers, stage.injected)),
      tables: [phaseTable(phasesOfFaults(answers, stage.injected), 'answered')],
    };
  },
};

/** Each fault at its moment, or right after the one before. */
function* faultsAt(planned: readonly TimedFault[], loadMs: number): Generator<StormFault> {
  const beganMs = performance.now();
  for (const { fault, atShare, forMs } of planned) {
    const afterMs = beganMs + atShare * loadMs - performance.now();
    yield { fault, kind: fault.name, afterMs, forMs };
  }
}

/** A fault that was not played, or that refused nobody, has shown nothing. */
export const missedFaults = (
  planned: readonly Pick<TimedFault, 'fault' | 'isAway'>[],
  attempts: readonly K6Attempt[],
  played: readonly InjectedFault[],
): Bilingual[] =>
  planned.flatMap(({ fault: { name }, isAway = false }) => {
    const own = played.find((each) => each.name === name);
    const meanwhile = attempts.filter((each) => own && isWithin(each, own.at, own.healedAt));
    const isNoticed = meanwhile.some(({ outcome }) => outcome !== 'accepted');
    if (!own) return thereWasNo(name);
    if (!isAway || isNoticed) return [];
    return { en: `nobody was refused during ${name}`, zh: `${name} 期间没有人被拒绝` };
  });

/** Whether it was answered in this time; without an end, since then. */
function isWithin({ answeredAt }: K6Attempt, from: bigint, to?: bigint): boolean {
  const at = BigInt(answeredAt);
  return at >= from && (to === undefined || at < to);
}

/** By when the attempts were answered: before the first fault, during each, and after it. */
function phasesOfFaults(attempts: readonly K6Attempt[], played: readonly InjectedFault[]): Phase[] {
  if (attempts.length === 0) return [];
  const between = (phase: Text, from: bigint, to: bigint | undefined) => {
    const own = attempts.filter((each) => isWithin(each, from, to));
    return phaseOf(rung, phase, own);
  };
  return [
    between(phaseNames.before, 0n, played[0]?.at),
    ...played.flatMap(({ name, at, healedAt = at }, index) => [
      between(name, at, healedAt),
      between(phaseNames.after, healedAt, played[index + 1]?.at),
    ]),
  ];
}

/** k6: a threshold was not met. */
const thresholdsFailed = 99;
const couldNotTell = 2;

/** The voucher that k6 sold; null when k6 could not begin. */
export const voucherOf = ({ summary }: K6Run): string | null =>
  /^failover\.js on .*, voucher (\d+)$/m.exec(summary)?.[1] ?? null;

export function k6Figures({ summary }: K6Run) {
  const numberIn = (pattern: RegExp) => Number(pattern.exec(summary)?.[1] ?? 0);
  return {
    attempts: numberIn(/^CENSUS +(\d+) attempts/m),
    accepted: numberIn(/^ {2}accepted +(\d+)$/m),
    unknown: numberIn(/^ {2}unknown +(\d+)$/m),
    droppedIterations: numberIn(/(\d+) dropped iterations/),
    wholeSecondsWithoutSale: numberIn(/(\d+) of \d+ seconds without a sale/),
    longestGapWholeSeconds: numberIn(/longest gap (\d+) s/),
  };
}

/**
 * A threshold that k6 could not measure has a `?`, although it counts as not met.
 * @param missed the faults that were not played, or that nobody noticed.
 */
export function judgeK6(
  run: K6Run,
  audits: readonly SaleAudit[],
  missed: readonly Bilingual[],
): Judged {
  const figures = k6Figures(run);
  const marked = (mark: string) =>
    run.summary
      .split('\n')
      .filter((line) => line.startsWith(`  ${mark} `))
      .map((line) => ofName('k6', line.trim()));
  const [broken, open] = [marked('✗'), marked('?')];
  const isNamed = run.exitCode !== thresholdsFailed || broken.length + open.length > 0;
  const missing = [
    ...open,
    unless(isNamed, {
      en: 'k6: a threshold was not met, and the summary does not say which',
      zh: 'k6：有一个阈值没有达到，小结里没有写是哪一个',
    }),
    ...doubtsAbout(run, open.length > 0, audits.length > 0),
    ...missed,
  ];
  return { ...judgeAudits(audits, { broken, missing }), figures };
}

function doubtsAbout(run: K6Run, isDoubted: boolean, isAudited: boolean): Found[] {
  const { exitCode, errors } = run;
  const isExplained = exitCode === couldNotTell && isDoubted;
  if (exitCode !== 0 && exitCode !== thresholdsFailed && !isExplained)
    return [
      ofName(
        {
          en: `k6 ended with exit code ${exitCode ?? 'none'}`,
          zh: `k6 的退出码是 ${exitCode ?? '无'}`,
        },
        errors.trim().replaceAll(/\s+/g, ' '),
      ),
    ];
  if (!isAudited)
    return [
      { en: 'k6 named no voucher, so none was audited', zh: 'k6 没有写是哪张券，所以没有审计' },
    ];
  return [unless(k6Figures(run).accepted > 0, nobodyBought)];
}
