/** `drill` and `soak`: load, faults, and an audit. */
import { database, json, seedNumber, someMinutes } from '../lab/commands/options.ts';
import { plannedDrill } from '../lab/commands/planned.ts';
import { commandRow, commandText } from '../lab/commands/row.ts';
import { drillRow } from '../lab/commands/rows.ts';
import { drillNames, drills } from '../lab/drills/drills.ts';
import { soak } from '../lab/soak/soak.ts';
import { flag } from '../service/operate/words.ts';
import { command } from './command.ts';
import { printEach } from './output.ts';
import { playExperiment } from './play.ts';

export const addDrill = command(drillRow, (folders, given) => {
  const { name, list, json, language, seed, minutes, times, database } = given;
  if (list) {
    const all = drillNames.map((each) => ({ name: each, about: drills[each].about[language] }));
    return printEach(json, all, ({ name, about }) => `${name}: ${about}`);
  }
  const planned = plannedDrill(name, { seed, minutes });
  return playExperiment(folders, { ...planned, times, database, json, language });
});

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
    json,
  },
});

export const addSoak = command(soakRow, (folders, given) => {
  const { minutes, seed, gate, database, json } = given;
  return playExperiment(folders, {
    ...{ name: 'soak', experiment: soak, options: { seed, minutes, isGated: gate } },
    ...{ command: commandText(soakRow, given), times: 1, database, json },
  });
});
