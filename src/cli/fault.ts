import { Argument } from 'commander';
import { Lab } from '../lab/environment/lab.ts';
import { alone } from '../lab/environment/session.ts';
import { LabDown, ServerNameMissing } from '../lab/errors.ts';
import { json } from './options.ts';
import { type AddCommand, type JsonOption, type Place, print } from './output.ts';

const verbs = ['stop', 'kill', 'pause', 'resume', 'start'] as const;
type Verb = (typeof verbs)[number];

const done: Readonly<Record<Verb, string>> = {
  stop: 'is stopped (SIGTERM)',
  kill: 'is killed (SIGKILL)',
  pause: 'is paused (SIGSTOP): its connections stay open, and nothing answers',
  resume: 'is resumed',
  start: 'runs',
};

export const addFault: AddCommand = (program, place) =>
  program
    .command('fault')
    .description('stop, kill or pause a server of the running lab, for example while k6 runs')
    .addArgument(new Argument('<verb>', 'what to do').choices([...verbs, 'heal']))
    .argument('[server]', 'redis-2, nginx, api-1, api-worker-1, …; heal needs none')
    .addOption(json())
    .action((verb: Verb | 'heal', server: string | undefined, options: JsonOption) =>
      fault(place, verb, server, options),
    );

async function fault(
  { labFolder }: Place,
  verb: Verb | 'heal',
  server: string | undefined,
  { json }: JsonOption,
): Promise<void> {
  await alone(labFolder, async () => {
    const lab = Lab.running(labFolder);
    if (!lab) throw new LabDown();
    if (verb === 'heal') return lab.heal();
    if (server === undefined) throw new ServerNameMissing(verb);
    return lab.server(server)[verb]();
  });
  print(json, { verb, server }, () =>
    verb === 'heal'
      ? 'Every server runs and answers.'
      : `${server} ${done[verb]}. Undo all faults: npx lockstep fault heal`,
  );
}
