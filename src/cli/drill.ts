/** `drill` and `soak`: load, faults, and an audit. */
import { database, json, language, seedNumber, someMinutes } from '../lab/commands/options.ts';
import { plannedDrill, plannedDrillOn } from '../lab/commands/planned.ts';
import { commandRow, commandText, type Given, usualOf } from '../lab/commands/row.ts';
import { drillRow, usualDrill } from '../lab/commands/rows.ts';
import { drillNames, drills } from '../lab/drills/drills.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { databaseOf } from '../lab/environment/session.ts';
import { labError } from '../lab/errors.ts';
import { soak } from '../lab/soak/soak.ts';
import { flag } from '../service/operate/words.ts';
import { command } from './command.ts';
import { printNamed } from './output.ts';
import { playExperiment } from './play.ts';

export const addDrill = command(drillRow, (folders, given) => {
  const { name, list, json, language, seed, minutes, database } = given;
  if (list) return printNamed(json, drillNames, 'about', (each) => drills[each].about[language]);
  if (ofOwnDrill.every((key) => given[key] === usualOf(drillRow.options[key])))
    return playExperiment(folders, given, plannedDrill(name ?? usualDrill, { seed, minutes }));
  const used = databaseOf(folders.labFolder, database);
  return playExperiment(folders, given, ownDrill(given, used));
});

const ofOwnDrill = ['on', 'faults', 'beside', 'arrivals', 'perSecond'] as const;

/**
 * @throws DRILL_HAS_FAULTS, DRILL_INCOMPLETE, DRILL_HAS_NO_SEED, or the error of a load
 *   or of faults that cannot be played
 */
function ownDrill(
  given: Given<typeof drillRow.arguments & typeof drillRow.options>,
  used: Database,
) {
  const { name, on: rung, faults, beside, arrivals, perSecond, minutes, seed } = given;
  if (name) throw labError('DRILL_HAS_FAULTS', name);
  if (!rung || faults === undefined) throw labError('DRILL_INCOMPLETE');
  if (seed !== usualOf(drillRow.options.seed)) throw labError('DRILL_HAS_NO_SEED', seed);
  return plannedDrillOn({ rung, beside, arrivals, perSecond, minutes }, faults, used);
}

const soakRow = commandRow({
  name: 'soak',
  about: soak.about,
  arguments: {},
  options: {
    minutes: {
      schema: someMinutes.default(3),
      en: 'how long the load and the faults last',
      zh: '压测和故障持续多少分钟',
      repeat: 'always',
    },
    seed: {
      schema: seedNumber.default(1),
      en: 'decides which faults, their sequence and their length',
      zh: '决定有哪些故障、先后顺序和时长',
      repeat: 'always',
    },
    gate: {
      schema: flag,
      en: 'every declared cell must be seen: give it --minutes 10',
      zh: '每一个应该出现的组合都必须出现：配合 --minutes 10',
    },
    database,
    language,
    json,
  },
});

export const addSoak = command(soakRow, (folders, given) => {
  const { minutes, seed, gate } = given;
  return playExperiment(folders, given, {
    name: 'soak',
    experiment: soak,
    options: { seed, minutes, isGated: gate },
    command: commandText(soakRow, given),
  });
});
