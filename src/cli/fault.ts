import { Argument } from 'commander';
import { askLab } from '../lab/by-hand/ask-lab.ts';
import type { HandVerb } from '../lab/by-hand/asked-faults.ts';
import { Lab } from '../lab/environment/lab.ts';
import { alone } from '../lab/environment/session.ts';
import { labError } from '../lab/errors.ts';
import { runAgain, soAlready } from '../lab/faults/by-hand.ts';
import { doneText, type FaultVerb, faultOn, verbs } from '../lab/faults/faults.ts';
import { wrap } from '../lab/report/wrap.ts';
import { json, whole } from './options.ts';
import { type AddCommand, type JsonOption, print, type WorkFolders } from './output.ts';

const undoing = ['resume', 'start'] as const;
type Undoing = (typeof undoing)[number];

interface FaultOptions extends JsonOption {
  readonly ms: number;
}

export const addFault: AddCommand = (program, folders) =>
  program
    .command('fault')
    .description('break a server while k6 or `break` runs; heal mends all, end ends `break`')
    .addArgument(
      new Argument('<verb>', 'what to do').choices([...verbs, ...undoing, 'heal', 'end']),
    )
    .argument('[server]', 'redis-2, nginx, api-1, api-worker-1, …; heal and end need none')
    .option(
      '--ms <n>',
      'for slow, delay, block-event-loop and step-clock-…',
      whole(0, 600_000),
      2_000,
    )
    .addOption(json())
    .action((verb: HandVerb, server: string | undefined, options: FaultOptions) =>
      fault(folders, verb, server, options),
    );

async function fault(
  { labFolder }: WorkFolders,
  verb: HandVerb,
  server: string | undefined,
  { json, ms }: FaultOptions,
): Promise<void> {
  const lab = Lab.running(labFolder);
  if (!lab) throw labError('LAB_DOWN');
  const asked = await askLab(lab, { verb, server: serverFor(verb, server), ms });
  const done = asked ?? (await alone(labFolder, () => act(lab, verb, server, ms)));
  print(json, { verb, server }, () => wrap(done));
}

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
  if (isUndoing(verb)) return runAgain(lab, verb, server);
  const so = soAlready(lab, verb, server);
  if (so !== null) return so;
  await faultOn(verb, server, ms).inject(lab);
  return `${doneText(verb, server)}. Undo all faults: npx lockstep fault heal`;
}

const serverFor = (verb: HandVerb, server: string | undefined): string => {
  if (verb === 'heal' || verb === 'end') return '';
  if (server === undefined) throw labError('SERVER_NAME_MISSING', verb);
  return server;
};

const isUndoing = (verb: FaultVerb | Undoing): verb is Undoing =>
  undoing.some((each) => each === verb);
