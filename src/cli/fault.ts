import { Argument } from 'commander';
import { Lab } from '../lab/environment/lab.ts';
import { alone } from '../lab/environment/session.ts';
import { LabDown, ServerNameMissing } from '../lab/errors.ts';
import { type FaultVerb, verbs } from '../lab/faults/by-hand.ts';
import { wrap } from '../lab/report/wrap.ts';
import { json, whole } from './options.ts';
import { type AddCommand, type JsonOption, type Place, print } from './output.ts';

const undoing = { resume: 'is resumed', start: 'runs' } as const;
type Undoing = keyof typeof undoing;
type Verb = FaultVerb | Undoing | 'heal';

interface FaultOptions extends JsonOption {
  readonly ms: number;
}

export const addFault: AddCommand = (program, place) =>
  program
    .command('fault')
    .description('break a server of the running lab, for example while k6 runs; heal mends all')
    .addArgument(
      new Argument('<verb>', 'what to do').choices([
        ...Object.keys(verbs),
        ...Object.keys(undoing),
        'heal',
      ]),
    )
    .argument('[server]', 'redis-2, nginx, api-1, api-worker-1, …; heal needs none')
    .option(
      '--ms <n>',
      'for slow, delay, block-event-loop and step-clock-…',
      whole(0, 600_000),
      2_000,
    )
    .addOption(json())
    .action((verb: Verb, server: string | undefined, options: FaultOptions) =>
      fault(place, verb, server, options),
    );

async function fault(
  { labFolder }: Place,
  verb: Verb,
  server: string | undefined,
  { json, ms }: FaultOptions,
): Promise<void> {
  const done = await alone(labFolder, async () => {
    const lab = Lab.running(labFolder);
    if (!lab) throw new LabDown();
    return act(lab, verb, server, ms);
  });
  print(json, { verb, server }, () => wrap(done));
}

/** @returns a sentence about what is so now. */
async function act(lab: Lab, verb: Verb, server: string | undefined, ms: number): Promise<string> {
  if (verb === 'heal') {
    await lab.heal();
    return 'Every server runs and answers.';
  }
  if (server === undefined) throw new ServerNameMissing(verb);
  if (isUndoing(verb)) await lab.server(server)[verb]();
  else await verbs[verb].fault(server, ms, lab).inject(lab);
  const now = isUndoing(verb) ? undoing[verb] : verbs[verb].done;
  return `${server} ${now}. Undo all faults: npx lockstep fault heal`;
}

const isUndoing = (verb: FaultVerb | Undoing): verb is Undoing => Object.hasOwn(undoing, verb);
