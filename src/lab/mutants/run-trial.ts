/** Plays a trial on the service that the lab runs now: the final rung, or a mutant. */
import { audit } from '../../service/audit/audit.ts';
import { evidenceOf } from '../../service/audit/check.ts';
import type { Facts } from '../../service/audit/facts.ts';
import type { CheckName, Verdict } from '../../service/domain.ts';
import type { ladder } from '../../service/ladder/rungs.ts';
import { checkTexts } from '../../texts/evidence.ts';
import type { LabEvidence } from '../../texts/evidence-en.ts';
import type { Language } from '../../texts/texts.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { ofName } from '../stage/result.ts';
import { type Experiment, type Stage, withStage } from '../stage/stage.ts';
import { type Trial, TrialStage } from './trial-stage.ts';
import { type TrialName, trials } from './trials.ts';

const rung: keyof typeof ladder = 'lua-stream';

/** Two workers, so that one can claim what the other left. They claim soon: trials are short. */
export const trialShape: ServiceShape = {
  instances: 2,
  balancer: 'nginx',
  settings: { ORDER_WORKERS: '2', CLAIM_IDLE_MS: '500' },
};

/** A few seconds are enough; a mutant that must not settle is waited for until the end. */
export const settlesWithinMs = { usually: 30_000, never: 8_000 } as const;

export interface TrialResult {
  readonly seconds: number;
  readonly findings: readonly TrialFinding[];
}

/** The title of a trial's voucher begins with it. */
export const trialTitle = 'mutants, ';

/** @throws TRIAL_NOT_PLAYED, DEADLINE_PASSED: the moment that decides was not reached. */
export async function runTrial(
  { lab, signal }: Pick<Stage, 'lab' | 'signal'>,
  name: TrialName,
  withinMs: number = settlesWithinMs.usually,
): Promise<TrialResult> {
  const trial: Trial = trials[name];
  const startedAt = performance.now();
  return withStage(lab, signal, async (stage) => {
    await stage.connect(); // A mutant may not be ready, by its own word.
    const sale = { title: `${trialTitle}${name}`, stock: trial.stock, rung };
    const own = new TrialStage(stage, await stage.putOnSale(sale));
    await trial.play(own);
    await own.mend();
    const isSettled = await own.settles(withinMs);
    signal.throwIfAborted(); // Else a look that was interrupted counts as one that came too late.
    const findings = judgeTrial(await own.facts(), isSettled, trial);
    return { findings, seconds: (performance.now() - startedAt) / 1_000 };
  });
}

/** A check of the audit; or that every accepted order leaves the queue, which the audit awaits. */
export type TrialCheck = CheckName | 'orders-settle';

export interface TrialFinding {
  readonly check: TrialCheck;
  readonly verdict: Verdict;
  /** The case that proves it, or the reason why it is not known; empty when the check held. */
  readonly evidence: readonly LabEvidence[];
}

/** Every check of the audit, but for what the fault breaks on every rung. */
export function judgeTrial(
  facts: Facts,
  isSettled: boolean,
  { breaks = {} }: Pick<Trial, 'breaks'>,
): TrialFinding[] {
  const { findings } = audit(facts);
  const judged = findings.filter(({ check }) => !Object.hasOwn(breaks, check));
  const queued = facts.redis?.queued.join(', ');
  return [
    isSettled
      ? { check: 'orders-settle', verdict: 'held', evidence: [] }
      : {
          check: 'orders-settle',
          verdict: 'violated',
          evidence: [['orders-never-settled', queued]],
        },
    ...judged.map((each) => ({ ...each, evidence: evidenceOf(each) })),
  ];
}

/** The first finding that did not hold, a violated one before an unknown one. */
export const firstNotHeld = (findings: readonly TrialFinding[]): TrialFinding | undefined =>
  findings.find(({ verdict }) => verdict === 'violated') ??
  findings.find(({ verdict }) => verdict === 'unknown');

interface TrialOptions {
  readonly name: TrialName;
  /** Of the fault and of what the audit found. */
  readonly language: Language;
}

/** On the service as it is. */
export const trialExperiment: Experiment<TrialOptions> = {
  about: {
    en: 'lua-stream, under one fault at the moment that decides',
    zh: 'lua-stream，在决定成败的那一刻注入一次故障',
  },
  async play(stage, { name, language }) {
    await stage.serve(trialShape);
    const { fault } = trials[name];
    stage.note(ofName({ en: 'the fault', zh: '故障' }, fault));
    const { findings, seconds } = await runTrial(stage, name);
    const notHeld = findings.filter(({ verdict }) => verdict !== 'held');
    return {
      verdict: firstNotHeld(findings)?.verdict ?? 'held',
      reasons: notHeld.map(({ check, evidence }) => checkTexts(check, ...evidence)),
      figures: { seconds: Number(seconds.toFixed(1)) },
      faults: { [fault[language]]: 1 },
      facts: [],
    };
  },
};
