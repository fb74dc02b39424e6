/** `break`, `fault` and `locks`: a sale that somebody breaks by hand, and who holds which lock. */
import { askLab, type HandVerb } from '../lab/by-hand/asked-faults.ts';
import { json } from '../lab/commands/options.ts';
import { plannedBreak } from '../lab/commands/planned.ts';
import { commandRow } from '../lab/commands/row.ts';
import { breakRow, faultRow } from '../lab/commands/rows.ts';
import type { Lab } from '../lab/environment/lab.ts';
import { runningLab } from '../lab/environment/lab-connections.ts';
import { lockKeys, locksNow } from '../lab/environment/locks-now.ts';
import { alone } from '../lab/environment/session.ts';
import { labError } from '../lab/errors.ts';
import { isUndoing, runAgain, soAlready } from '../lab/faults/by-hand.ts';
import { doneText, faultOn } from '../lab/faults/faults.ts';
import { lockLines } from '../lab/report/lock-lines.ts';
import { wrap } from '../lab/report/wrap.ts';
import { lockEvents } from '../service/audit/read-history.ts';
import { command } from './command.ts';
import { print } from './output.ts';
import { playExperiment } from './play.ts';

export const addBreak = command(breakRow, (folders, { database, json, ...options }) =>
  playExperiment(folders, { ...plannedBreak(options), times: 1, database, json }),
);

export const addFault = command(faultRow, async ({ labFolder }, { verb, server, ms, json }) => {
  const lab = runningLab(labFolder);
  const asked = await askLab(lab, { verb, server: serverFor(verb, server), ms });
  const done = asked ?? (await alone(labFolder, () => act(lab, verb, server, ms)));
  print(json, { verb, server }, () => wrap(done));
});

/** @returns a sentence about what is so now. */
async function act(
  lab: Lab,
  verb: HandVerb,
  server: string | undefined,
  ms: number,
): Promise<string> {
  if (verb === 'heal') {
    await lab.heal();
    return 'Every server runs and answers.';
  }
  if (verb === 'end') throw labError('NOTHING_TO_END');
  if (server === undefined) throw labError('SERVER_NAME_MISSING', verb);
  const so = soAlready(lab, verb, server);
  if (so !== null) return so;
  if (isUndoing(verb)) return runAgain(lab, verb, server);
  await faultOn(verb, server, ms).inject(lab);
  return `${doneText(verb, server)}. Undo all faults: npx lockstep fault heal`;
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
  options: { json },
});

export const addLocks = command(locksRow, async ({ labFolder }, { json }) => {
  const lab = runningLab(labFolder);
  const keys = await lockKeys(lab);
  const locks = locksNow(lockEvents(lab.historyFolder), keys);
  print(json, locks, () => lockLines(locks));
});
