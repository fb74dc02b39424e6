/** `break`, `fault` and `locks`: a sale that somebody breaks by hand, and who holds which lock. */
import { askLab, type HandVerb } from '../lab/by-hand/asked-faults.ts';
import { json, language } from '../lab/commands/options.ts';
import { plannedBreak } from '../lab/commands/planned.ts';
import { commandRow } from '../lab/commands/row.ts';
import { breakRow, faultRow } from '../lab/commands/rows.ts';
import type { Lab } from '../lab/environment/lab.ts';
import { runningLab } from '../lab/environment/lab-connections.ts';
import { lockKeys, locksNow } from '../lab/environment/locks-now.ts';
import { alone } from '../lab/environment/session.ts';
import { labError } from '../lab/errors.ts';
import { allRun, doneText, faultOn, isUndoing, runAgain, soAlready } from '../lab/faults/faults.ts';
import { lockLines } from '../lab/report/lock-lines.ts';
import { wrap } from '../lab/report/wrap.ts';
import type { Bilingual } from '../lab/stage/result.ts';
import { lockEvents } from '../service/audit/read-history.ts';
import { command } from './command.ts';
import { print } from './output.ts';
import { playExperiment } from './play.ts';

export const addBreak = command(breakRow, (folders, { database, json, language, ...options }) =>
  playExperiment(folders, { database, json, language }, plannedBreak(options)),
);

export const addFault = command(faultRow, async ({ labFolder }, given) => {
  const { verb, server, ms, language, json } = given;
  const lab = runningLab(labFolder);
  const named = serverFor(verb, server);
  const asked = await askLab(lab, { verb, server: named, ms });
  const done = asked ?? (await alone(labFolder, () => act(lab, verb, named, ms)));
  print(json, { verb, server }, () => wrap(done[language]));
});

/** @returns a sentence about what is so now. */
async function act(lab: Lab, verb: HandVerb, server: string, ms: number): Promise<Bilingual> {
  if (verb === 'heal') {
    await lab.heal();
    return allRun;
  }
  if (verb === 'end') throw labError('NOTHING_TO_END');
  const so = soAlready(lab, verb, server);
  if (so !== null) return so;
  if (isUndoing(verb)) return runAgain(lab, verb, server);
  await faultOn(verb, server, ms).inject(lab);
  const { en, zh } = doneText(verb, server);
  const heal = 'npx lockstep fault heal';
  return { en: `${en}. Undo all faults: ${heal}`, zh: `${zh}。结束所有故障：${heal}` };
}

const serverFor = (verb: HandVerb, server: string | undefined): string => {
  if (verb === 'heal' || verb === 'end') return '';
  if (server === undefined) throw labError('SERVER_NAME_MISSING', verb);
  return server;
};

const locksRow = commandRow({
  name: 'locks',
  about: {
    en: 'which purchase holds which lock now, which wait, and which lock nobody holds',
    zh: '现在哪个请求拿着哪把锁，谁在等，哪把锁没有人拿',
  },
  arguments: {},
  options: { language, json },
});

export const addLocks = command(locksRow, async ({ labFolder }, { language, json }) => {
  const lab = runningLab(labFolder);
  const keys = await lockKeys(lab);
  const locks = locksNow(lockEvents(lab.historyFolder), keys);
  print(json, locks, () => lockLines(locks, language));
});
