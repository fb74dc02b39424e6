/** One trial on the service as it is: the final rung, under a fault at the moment that decides. */
import { evidenceText } from '../../texts/evidence.ts';
import type { Language } from '../../texts/texts.ts';
import type { Experiment } from '../stage/experiment.ts';
import { firstNotHeld } from './judge-trial.ts';
import { runTrial, trialShape } from './run-trial.ts';
import type { Trial } from './trial.ts';
import { type TrialName, trials } from './trials.ts';

interface TrialOptions {
  readonly name: TrialName;
  /** Of the fault and of what the audit found. */
  readonly language: Language;
}

export const trialExperiment: Experiment<TrialOptions> = {
  about: {
    en: 'lua-stream, under one fault at the moment that decides',
    zh: 'lua-stream，在决定成败的那一刻注入一次故障',
  },
  async play(stage, { name, language }) {
    const trial: Trial = trials[name];
    const fault = trial.fault[language];
    await stage.serve(trialShape);
    stage.note(language === 'zh' ? `故障：${fault}` : `the fault: ${fault}`);
    const { findings, seconds } = await runTrial(stage.lab, name, trial, stage.signal);
    const notHeld = findings.filter(({ verdict }) => verdict !== 'held');
    return {
      verdict: firstNotHeld(findings)?.verdict ?? 'held',
      reasons: notHeld.map(
        ({ check, evidence }) => `${check}: ${evidenceText(language, ...evidence)}`,
      ),
      figures: { seconds: Number(seconds.toFixed(1)) },
      faults: { [fault]: 1 },
      facts: [],
    };
  },
};
