import { UnknownRung } from '../errors.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { plannedBreak } from '../lab/report/planned.ts';
import { isRungName, rungNames } from '../ladder/rungs.ts';
import { database, json, minutes, whole } from './options.ts';
import type { AddCommand, JsonOption, Place } from './output.ts';
import { playExperiment } from './play.ts';

interface BreakCommand extends JsonOption {
  readonly database?: Database;
  readonly perSecond: number;
  readonly minutes: number;
}

export const addBreak: AddCommand = (program, place) =>
  program
    .command('break')
    .description('steady purchases, while you break servers with `lockstep fault`; then the audit')
    .argument('<rung>', 'a name from `lockstep ladder`')
    .option('--per-second <n>', 'purchases a second', whole(1, 5_000), 100)
    .option('--minutes <n>', 'how long; `lockstep fault end` ends it earlier', minutes, 5)
    .addOption(database())
    .addOption(json())
    .action((rung: string, options: BreakCommand) => breakByHand(place, rung, options));

function breakByHand(
  place: Place,
  rung: string,
  { perSecond, minutes, database, json }: BreakCommand,
): Promise<void> {
  if (!isRungName(rung)) throw new UnknownRung(rung, rungNames);
  return playExperiment(place, {
    ...plannedBreak({ rung, perSecond, minutes }),
    ...{ times: 1, database, json },
  });
}
