import { labError } from '../lab/errors.ts';
import { trialExperiment } from '../lab/mutants/trial-experiment.ts';
import { isTrialName, trialNames, trials } from '../lab/mutants/trials.ts';
import { wrap } from '../lab/report/wrap.ts';
import type { Language } from '../texts/texts.ts';
import { json, language } from './options.ts';
import { type AddCommand, type JsonOption, print, type WorkFolders } from './output.ts';
import { playExperiment } from './play.ts';

interface TrialCommand extends JsonOption {
  readonly language: Language;
}

export const addTrial: AddCommand = (program, folders) =>
  program
    .command('trial')
    .description(
      'lua-stream under one fault, at the moment that decides: what a mutant must survive',
    )
    .argument('[name]', 'one of those that it lists without a name')
    .addOption(language())
    .addOption(json())
    .action((name: string | undefined, options: TrialCommand) =>
      name === undefined ? listTrials(options) : trial(folders, name, options),
    );

function listTrials({ json, language }: TrialCommand): void {
  const all = trialNames.map((name) => ({ name, fault: trials[name].fault[language] }));
  print(json, all, () => all.map(({ name, fault }) => wrap(`${name}: ${fault}`)).join('\n'));
}

function trial(
  folders: WorkFolders,
  name: string,
  { json, language }: TrialCommand,
): Promise<void> {
  if (!isTrialName(name)) throw labError('UNKNOWN_TRIAL', name, trialNames);
  return playExperiment(folders, {
    ...{ name: `trial-${name}`, experiment: trialExperiment, options: { name, language } },
    command: `npx lockstep trial ${name}`,
    ...{ times: 1, database: undefined, isOnLabDatabase: true, json, language },
  });
}
