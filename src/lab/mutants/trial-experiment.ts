/** One trial on the service as it is: the final rung, under a fault at the moment that decides. */
import type { Experiment } from '../stage/experiment.ts';
import { firstNotHeld } from './judge-trial.ts';
import { runTrial, trialShape } from './run-trial.ts';
import type { Trial } from './trial.ts';
import { type TrialName, trials } from './trials.ts';

export const trialExperiment: Experiment<{ readonly name: TrialName }> = {
  about: 'lua-stream, under one fault at the moment that decides',
  async play(stage, { name }) {
    const trial: Trial = trials[name];
    await stage.serve(trialShape);
    stage.note(`the fault: ${trial.fault}`);
    const { findings, seconds } = await runTrial(stage.lab, name, trial, stage.signal);
    const notHeld = findings.filter(({ verdict }) => verdict !== 'held');
    return {
      verdict: firstNotHeld(findings)?.verdict ?? 'held',
      reasons: notHeld.map(({ check, evidence }) => `${check}: ${evidence}`),
      figures: { seconds: Number(seconds.toFixed(1)) },
      faults: { [trial.fault]: 1 },
      facts: [],
    };
  },
};
