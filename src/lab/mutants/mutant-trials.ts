/** The mutants of the final rung as an experiment. */
import type { Experiment } from '../stage/experiment.ts';
import { judgeMutants } from './judge-mutants.ts';
import type { MutantName } from './mutants.ts';
import { runMutants } from './run-mutants.ts';

export interface MutantOptions {
  readonly names: readonly MutantName[];
}

export const mutantTrials: Experiment<MutantOptions> = {
  about: 'one defence of the final rung is removed at a time: a check must turn red',
  play: async ({ lab, signal, emit }, { names }) =>
    judgeMutants(await runMutants(lab, names, signal, (text) => emit({ kind: 'note', text }))),
};
