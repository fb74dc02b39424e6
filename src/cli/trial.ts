import { UnknownTrial } from '../lab/errors.ts';
import { trialExperiment } from '../lab/mutants/trial-experiment.ts';
import { isTrialName, trialNames, trials } from '../lab/mutants/trials.ts';
import { json } from './options.ts';
import { type AddCommand, type JsonOption, type Place, print } from './output.ts';
import { playExperiment } from './play.ts';

export const addTrial: AddCommand = (program, place) =>
  program
    .command('trial')
    .description(
      'lua-stream under one fault, at the moment that decides: what a mutant must survive',
    )
    .argument('[name]', 'one of those that it lists without a name')
    .addOption(json())
    .action((name: string | undefined, { json }: JsonOption) =>
      name === undefined ? listTrials(json) : trial(place, name, json),
    );

function listTrials(json: boolean): void {
  const all = trialNames.map((name) => ({ name, fault: trials[name].fault }));
  print(json, all, () => all.map(({ name, fault }) => `${name}: ${fault}`).join('\n'));
}

function trial(place: Place, name: string, json: boolean): Promise<void> {
  if (!isTrialName(name)) throw new UnknownTrial(name, trialNames);
  return playExperiment(place, {
    ...{ name: `trial-${name}`, experiment: trialExperiment, options: { name } },
    command: `npx lockstep trial ${name}`,
    ...{ times: 1, database: undefined, isOnLabDatabase: true, json },
  });
}
