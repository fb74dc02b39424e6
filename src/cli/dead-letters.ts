import { Argument } from 'commander';
import { Lab } from '../lab/environment/lab.ts';
import { withConnections } from '../lab/environment/lab-connections.ts';
import { labError } from '../lab/errors.ts';
import { wrapLines } from '../lab/report/wrap.ts';
import type { Connections } from '../service/connections/connections.ts';
import {
  type LetterAct,
  type LettersAnswer,
  type LettersRequest,
  letterActs,
  runDeadLetters,
} from '../service/orders/letters-command.ts';
import { withDeployment } from '../service/processes/with-stores.ts';
import { json, whole } from './options.ts';
import { type AddCommand, type JsonOption, print } from './output.ts';

type DeadLettersOptions = Omit<LettersRequest, 'act' | 'letter'> &
  JsonOption & { readonly deployment: boolean };

export const addDeadLetters: AddCommand = (program, { labFolder }) =>
  program
    .command('dead-letters')
    .description('orders that could not be recorded: list, show, replay (sell it again) or discard')
    .addArgument(new Argument('<act>', 'what to do').choices(letterActs))
    .argument('[letter]', 'its id, from the list; list needs none')
    .option('--most <n>', 'how many, the oldest first', whole(1, 10_000), 100)
    .option('--all', 'replay or discard every letter that the next two options leave', false)
    .option('--reason <reason>', 'only letters with this reason')
    .option('--voucher-id <id>', 'only letters of this voucher')
    .option('--deployment', 'of the service in the environment (MYSQL_URL, …), not the lab', false)
    .addOption(json())
    .action(async (act: LetterAct, letter: string | undefined, options: DeadLettersOptions) => {
      const { json, deployment, ...request } = options;
      const work = (opened: Connections) => runDeadLetters(opened, { ...request, act, letter });
      const { data, text, isPartial } = await (deployment
        ? withDeployment(work)
        : inLab(labFolder, work));
      print(json, data, () => wrapLines(text));
      if (isPartial) process.exitCode = 1;
    });

function inLab(
  labFolder: string,
  work: (connections: Connections) => Promise<LettersAnswer>,
): Promise<LettersAnswer> {
  const lab = Lab.running(labFolder);
  if (!lab) throw labError('LAB_DOWN');
  return withConnections(lab, work);
}
