import { Lab } from '../lab/environment/lab.ts';
import { lockKeys } from '../lab/environment/lock-keys.ts';
import { locksNow } from '../lab/environment/locks-now.ts';
import { labError } from '../lab/errors.ts';
import { lockLines } from '../lab/report/lock-lines.ts';
import { lockEvents } from '../service/audit/read-history.ts';
import { json } from './options.ts';
import { type AddCommand, type JsonOption, print } from './output.ts';

export const addLocks: AddCommand = (program, { labFolder }) =>
  program
    .command('locks')
    .description('which purchase holds which lock now, which wait, and which lock nobody holds')
    .addOption(json())
    .action(async ({ json }: JsonOption) => {
      const lab = Lab.running(labFolder);
      if (!lab) throw labError('LAB_DOWN');
      const keys = await lockKeys(lab);
      const locks = locksNow(lockEvents(lab.historyFolder), keys);
      print(json, locks, () => lockLines(locks));
    });
