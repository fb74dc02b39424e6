/** The mutants of the final rung as an experiment. */
import type { Experiment } from '../stage/experiment.ts';
import { judgeMutants } from './judge-mutants.ts';
import type { MutantName } from './mutants.ts';
import { runMutants } from './run-mutants.ts';

export interface MutantOptions {
  readonly names: readonly MutantName[];
}

export const mutantTrials: Experiment<MutantOptions> = {
  about: {
    en: 'one defence of the final rung is removed at a time: a check must turn red',
    zh: '每次拆掉最后一级的一道防线：必须有一项检查变红',
  },
  play: async ({ lab, signal, emit }, { names }) =>
    judgeMutants(await runMutants(lab, names, signal, (text) => emit({ kind: 'note', text }))),
};
