import { Option } from 'commander';
import { type Arrivals, arrivals, mostK6PerSecond, whyNot } from '../lab/by-hand/break-choice.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { labError } from '../lab/errors.ts';
import { plannedBreak } from '../lab/report/planned.ts';
import { serviceError } from '../service/errors.ts';
import { isRungName, rungNames } from '../service/ladder/rungs.ts';
import { database, json, minutes, whole } from './options.ts';
import type { AddCommand, JsonOption, WorkFolders } from './output.ts';
import { playExperiment } from './play.ts';

interface BreakCommand extends JsonOption {
  readonly database?: Database;
  readonly beside?: string;
  readonly arrivals: Arrivals;
  readonly perSecond: number;
  readonly minutes: number;
}

export const addBreak: AddCommand = (program, folders) =>
  program
    .command('break')
    .description('purchases, while you break servers with `lockstep fault`; then the audit')
    .argument('<rung>', 'a name from `lockstep ladder`')
    .option('--beside <rung>', 'the same purchases on a second rung, at the same moments')
    .addOption(
      new Option('--arrivals <kind>', 'how buyers come; with k6, it is k6/failover.js')
        .choices(arrivals)
        .default('steady'),
    )
    .option('--per-second <n>', 'purchases a second, on each rung', whole(1, 5_000), 100)
    .option('--minutes <n>', 'how long; `lockstep fault end` ends it earlier', minutes, 5)
    .addOption(database())
    .addOption(json())
    .action((rung: string, options: BreakCommand) => breakByHand(folders, rung, options));

function breakByHand(
  folders: WorkFolders,
  rung: string,
  { beside, database, json, ...options }: BreakCommand,
): Promise<void> {
  if (!isRungName(rung)) throw serviceError('UNKNOWN_RUNG', rung, rungNames);
  if (beside !== undefined && !isRungName(beside))
    throw serviceError('UNKNOWN_RUNG', beside, rungNames);
  const because = whyNot({ rung, beside, ...options });
  if (because === 'notBeside') throw labError('NOT_BESIDE');
  if (because === 'k6TooFast') throw labError('K6_TOO_FAST', mostK6PerSecond);
  return playExperiment(folders, {
    ...plannedBreak({ rung, beside, ...options }),
    ...{ times: 1, database, json },
  });
}
