/** `race`: a famous one, the choices of a person, or every interleaving of two buyers. */

import { plannedRace } from '../lab/commands/planned.ts';
import { commandText, type Given } from '../lab/commands/row.ts';
import { raceRow } from '../lab/commands/rows.ts';
import type { WorkFolders } from '../lab/environment/work-folders.ts';
import { labError } from '../lab/errors.ts';
import { allOrdersExperiment } from '../lab/play/all-orders.ts';
import { choicesByHand } from '../lab/play/by-hand.ts';
import { choicesOptions } from '../lab/play/letters.ts';
import { raceNames, type Schedule, schedules } from '../lab/play/schedules.ts';
import { rungsWithOrders } from '../lab/play/set-up.ts';
import { wrap } from '../lab/report/wrap.ts';
import { command } from './command.ts';
import { print } from './output.ts';
import { playExperiment } from './play.ts';

type RaceGiven = Given<typeof raceRow.options & typeof raceRow.arguments>;

export const addRace = command(raceRow, (folders, given) => {
  const { name, list, choices, allOrders, everyCheckpoint, commands } = given;
  if ((everyCheckpoint || commands) && choices === undefined) throw labError('CHOICES_MISSING');
  if (list) return listRaces(given);
  if (name !== undefined && (allOrders !== undefined || choices !== undefined))
    throw labError('RACE_HAS_STEPS', name);
  if (allOrders !== undefined) return playAllOrders(folders, given);
  return choices === undefined ? playRace(folders, given) : playByHand(folders, given);
});

function playByHand(folders: WorkFolders, given: RaceGiven): Promise<void> {
  const { choices = '', rung, everyCheckpoint, commands, language } = given;
  if (rung === undefined) throw labError('RUNG_MISSING');
  return playExperiment(folders, given, {
    name: `choices-${rung}`,
    experiment: choicesByHand,
    options: {
      rung,
      choices,
      stopsEverywhere: everyCheckpoint,
      hasCommands: commands,
      language,
    },
    command: commandText(raceRow, { choices, rung, everyCheckpoint, commands }),
    isQuiet: true,
  });
}

function playAllOrders(folders: WorkFolders, given: RaceGiven) {
  const { allOrders } = given;
  const rungs = typeof allOrders === 'string' ? [allOrders] : rungsWithOrders;
  return playExperiment(folders, given, {
    name: 'all-orders',
    experiment: allOrdersExperiment(),
    options: { rungs },
    command: commandText(raceRow, { allOrders }),
    isQuiet: true,
  });
}

function playRace(folders: WorkFolders, given: RaceGiven): Promise<void> {
  const { name, rung, language } = given;
  if (name === undefined) throw labError('RACE_MISSING');
  const plan = plannedRace(name, rung ?? schedules[name].rung, language);
  return playExperiment(folders, given, plan);
}

const listWords = {
  en: {
    race: (name: string, rung: string) => `${name}, on ${rung}`,
    byHand: (options: string) => `    by hand: ${options}`,
    how: '\nby hand: npx lockstep race --rung <rung>, with these options',
  },
  zh: {
    race: (name: string, rung: string) => `${name}，方案 ${rung}`,
    byHand: (options: string) => `    亲手走：${options}`,
    how: '\n亲手走：npx lockstep race --rung <rung>，加上这些选项',
  },
} as const;

function listRaces({ json, language }: RaceGiven): void {
  const say = listWords[language];
  const all = raceNames.map((name) => {
    const { title, rung, byHand }: Schedule = schedules[name];
    return { name, rung, title: title[language], ...(byHand && { byHand }) };
  });
  print(json, all, () =>
    all
      .map(({ name, rung, title, byHand }) =>
        [
          say.race(name, rung),
          wrap(`    ${title}`, 79, '    '),
          ...(byHand ? [say.byHand(choicesOptions(byHand))] : []),
        ].join('\n'),
      )
      .concat(say.how)
      .join('\n'),
  );
}
