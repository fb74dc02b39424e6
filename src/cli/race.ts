import { InvalidArgumentError, Option } from 'commander';
import { allOrdersExperiment } from '../lab/choices/all-orders.ts';
import { choicesByHand } from '../lab/choices/by-hand.ts';
import { choicesCommand, choicesOptions, famousRaces } from '../lab/choices/famous-races.ts';
import { choicesIn, mostLetters } from '../lab/choices/letters.ts';
import { rungsWithOrders } from '../lab/choices/set-up.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { labError } from '../lab/errors.ts';
import { isRaceName, raceNames, schedules } from '../lab/races/schedules.ts';
import { said } from '../lab/races/schedules-zh.ts';
import { plannedRace } from '../lab/report/planned.ts';
import { wrap } from '../lab/report/wrap.ts';
import { serviceError } from '../service/errors.ts';
import { isRungName, type RungName, rungNames } from '../service/ladder/rungs.ts';
import type { Language } from '../texts/texts.ts';
import { database, json, language, whole } from './options.ts';
import { type AddCommand, type JsonOption, print, type WorkFolders } from './output.ts';
import { playExperiment } from './play.ts';

interface RaceOptions extends JsonOption {
  readonly list: boolean;
  readonly choices?: string;
  readonly everyCheckpoint: boolean;
  readonly commands: boolean;
  readonly allOrders?: string | true;
  readonly database?: Database;
  readonly rung?: string;
  readonly times: number;
  readonly language: Language;
}

export const addRace: AddCommand = (program, folders) =>
  program
    .command('race')
    .description('play a famous race step by step through nginx, on the rung with the bug')
    .argument('[name]', 'one of those that --list shows')
    .option('--list', 'list the races: their rung, and what they show', false)
    .option('--rung <rung>', 'play it on this rung instead')
    .option('--times <n>', 'number of plays', whole(1, 1_000), 1)
    .addOption(
      new Option(
        '--choices <lanes>',
        'instead: move the buyers of --rung by hand: AABB; W is the order worker; X kills, P and R pause ' +
          'and resume, E ends a lease, U loses an answer (AAEAB); S2 and H2 stop and start redis-2',
      )
        .argParser(choiceLetters)
        .conflicts('list'),
    )
    .option('--every-checkpoint', 'with --choices: a buyer stops at every checkpoint', false)
    .option('--commands', 'with --choices: what each of them sends to Redis and MySQL', false)
    .addOption(
      new Option(
        '--all-orders [rung]',
        'instead: every order of two buyers (no rung: of all)',
      ).conflicts(['list', 'choices', 'rung', 'times']),
    )
    .addOption(language())
    .addOption(database())
    .addOption(json())
    .action((name: string | undefined, options: RaceOptions) => {
      const isRace = options.allOrders === undefined && options.choices === undefined;
      const isOfChoices = options.everyCheckpoint || options.commands;
      if (isOfChoices && options.choices === undefined) throw labError('CHOICES_MISSING');
      if (options.list) return listRaces(options);
      if (name !== undefined && !isRace) throw labError('RACE_HAS_STEPS', name);
      if (options.allOrders !== undefined) return allOrders(folders, options);
      return options.choices === undefined
        ? race(folders, name, options)
        : byHand(folders, options);
    });

function choiceLetters(text: string): string {
  const letters = text.replaceAll(/[\s,]/g, '').toUpperCase();
  if (choicesIn(letters) !== null && letters.length <= mostLetters) return letters;
  throw new InvalidArgumentError(
    'They are the letters of the buyers, A to D. X before one kills its process, P pauses it, R ' +
      'resumes it, E ends its lease, U loses its answer: AAEAB. S1 to S3 stop a Redis master, H1 to ' +
      'H3 start it again. W is the order worker: XW kills it, SW stops it, HW starts it.',
  );
}

function rungToPlay(name: string | undefined): RungName {
  if (name === undefined) throw labError('RUNG_MISSING');
  if (!isRungName(name)) throw serviceError('UNKNOWN_RUNG', name, rungNames);
  return name;
}

function byHand(folders: WorkFolders, options: RaceOptions) {
  const {
    choices = '',
    everyCheckpoint: stopsEverywhere,
    commands,
    rung,
    times,
    json,
    database,
  } = options;
  const { language } = options;
  const on = rungToPlay(rung);
  const asked = { rung: on, choices, stopsEverywhere, hasCommands: commands, language };
  return playExperiment(folders, {
    ...{ name: `choices-${on}`, experiment: choicesByHand, options: asked },
    command: `${choicesCommand(on, { choices, stopsEverywhere })}${commands ? ' --commands' : ''}`,
    ...{ times, database, json, language, isQuiet: true },
  });
}

function allOrders(folders: WorkFolders, { allOrders: rung, json, database }: RaceOptions) {
  const rungs = typeof rung === 'string' ? [rungToPlay(rung)] : rungsWithOrders;
  return playExperiment(folders, {
    ...{ name: 'all-orders', experiment: allOrdersExperiment(), options: { rungs } },
    command: `npx lockstep race --all-orders${typeof rung === 'string' ? ` ${rung}` : ''}`,
    ...{ times: 1, database, json, isQuiet: true },
  });
}

function listRaces({ json, language }: RaceOptions): void {
  const all = raceNames.map((name) => {
    const { title, rung } = schedules[name];
    const choices = famousRaces[name];
    return { name, rung, title: said(title)[language], ...(choices && { byHand: choices }) };
  });
  print(json, all, () =>
    all
      .map(({ name, rung, title, byHand }) =>
        [
          `${name}, on ${rung}`,
          wrap(`    ${title}`, 79, '    '),
          ...(byHand ? [`    by hand: ${choicesOptions(byHand)}`] : []),
        ].join('\n'),
      )
      .concat('\nby hand: npx lockstep race --rung <rung>, with these options')
      .join('\n'),
  );
}

function race(
  folders: WorkFolders,
  name: string | undefined,
  { json, rung, times, database, language }: RaceOptions,
): Promise<void> {
  if (name === undefined) throw labError('RACE_MISSING');
  if (!isRaceName(name)) throw labError('UNKNOWN_RACE', name, raceNames);
  const on = rungToPlay(rung ?? schedules[name].rung);
  return playExperiment(folders, {
    ...plannedRace(name, on, language),
    ...{ times, database, json },
  });
}
