/** `mutants` and `trial`: what must turn red when a defence is gone, and what must hold with it. */
import { z } from 'zod';
import { database, json, language, list, times } from '../lab/commands/options.ts';
import { commandRow, commandText, named } from '../lab/commands/row.ts';
import { labError } from '../lab/errors.ts';
import { isMutantName, mutantNames, mutants } from '../lab/mutants/mutants.ts';
import { checkMutants, mutantTrials } from '../lab/mutants/run-mutants.ts';
import { trialExperiment } from '../lab/mutants/run-trial.ts';
import { isTrialName, trialNames, trials } from '../lab/mutants/trials.ts';
import type { Language } from '../texts/texts.ts';
import { command } from './command.ts';
import { print, printNamed } from './output.ts';
import { playExperiment } from './play.ts';

const knownMutant = named(isMutantName, (name) => labError('UNKNOWN_MUTANT', name, mutantNames));

const mutantsRow = commandRow({
  name: 'mutants',
  about: {
    en: 'remove one defence of the final rung at a time: a check must turn red',
    zh: '每次去掉最终方案的一道防线：必须有检查变红',
  },
  arguments: {},
  options: {
    list,
    only: {
      schema: z.array(knownMutant).default([]),
      value: '<name>',
      en: 'this mutant; may be given several times',
      zh: '只跑这个变异体；可以写多次',
    },
    times: times(1_000),
    database,
    language,
    json,
  },
});

export const addMutants = command(mutantsRow, (folders, given) => {
  const { only, list, json, language } = given;
  if (list) return listMutants(json, language);
  const names = only.length > 0 ? only : mutantNames;
  checkMutants(names);
  return playExperiment(folders, given, {
    name: 'mutants',
    experiment: mutantTrials,
    options: { names },
    command: commandText(mutantsRow, { only }),
  });
});

function listMutants(json: boolean, language: Language): void {
  const all = mutantNames.map((name) => {
    const { defence, trial, turnsRed } = mutants[name];
    const fault = trials[trial].fault[language];
    return { name, defence: defence[language], trial, fault, turnsRed };
  });
  const lines = all.map(
    ({ name, defence, fault, turnsRed }) =>
      `${name}\n  ${listed[language](defence, fault, turnsRed)}`,
  );
  print(json, all, () => lines.join('\n'));
}

const listed = {
  en: (defence: string, fault: string, check: string) =>
    `removed: ${defence}\n  fault:   ${fault}\n  red:     ${check}`,
  zh: (defence: string, fault: string, check: string) =>
    `去掉：${defence}\n  故障：${fault}\n  变红：${check}`,
};

const trialRow = commandRow({
  name: 'trial',
  about: {
    en: 'lua-stream under one fault, at the moment that decides: what a mutant must survive',
    zh: '在关键的那一刻给 lua-stream 注入一个故障：变异体要过的就是这一关',
  },
  arguments: {
    name: {
      schema: named(isTrialName, (name) => labError('UNKNOWN_TRIAL', name, trialNames)).optional(),
      en: 'a name from the list that it prints without one',
      zh: '不写名字就全部列出来',
    },
  },
  options: { list, language, json },
});

export const addTrial = command(trialRow, (folders, given) => {
  const { name, list, json, language } = given;
  if (list || name === undefined)
    return printNamed(json, trialNames, 'fault', (each) => trials[each].fault[language]);
  return playExperiment(folders, given, {
    name: `trial-${name}`,
    experiment: trialExperiment,
    options: { name, language },
    command: commandText(trialRow, { name }),
    isOnLabDatabase: true,
  });
});
