/** The command line. Exit codes: 0 as expected, 1 not as expected, 2 could not tell. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError, Option } from 'commander';
import { auditVoucher } from '../commands/audit.ts';
import { bench } from '../commands/bench.ts';
import { benchLocks } from '../commands/bench-locks.ts';
import { demo } from '../commands/demo.ts';
import { showLadder } from '../commands/ladder.ts';
import { race, replay } from '../commands/race.ts';
import { run } from '../commands/run.ts';
import { down, status, up } from '../commands/up.ts';
import { LockstepError } from '../errors.ts';
import { holdFormat, parseHold } from '../races/holds.ts';
import { raceNames } from '../races/schedules.ts';
import { wrap } from '../report/sentences.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const place = {
  labFolder: process.env['LOCKSTEP_LAB'] ?? join(root, '.lockstep', 'main'),
  runsFolder: process.env['LOCKSTEP_RUNS'] ?? join(root, 'runs'),
};
const whole = (least: number, most: number) => (text: string) => {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isInteger(number) || number < least || number > most)
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  return number;
};

const hold = (text: string, earlier: readonly string[] = []): readonly string[] => {
  if (parseHold(text) === null) throw new InvalidArgumentError(`\n${wrap(holdFormat)}`);
  return [...earlier, text];
};

const program = new Command('lockstep')
  .description('A flash sale, and the lab that proves what each way of protecting it is worth.')
  .addHelpText(
    'after',
    '\nExit codes: 0 as expected, 1 not as expected, 2 could not tell.\nStart with: lockstep ladder; lockstep run mutex-per-user --instances 4',
  )
  .showHelpAfterError('(try --help)')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));

const command = (name: string, description: string) =>
  program.command(name).description(description).option('--json', 'print JSON instead of text', false);

command('ladder', 'show every rung: what it does, what it claims').action(showLadder);
command('run', 'rush one rung through nginx and audit what came of it')
  .argument('<rung>', 'a name from `lockstep ladder`')
  .option('--instances <n>', 'API processes that share the requests', whole(1, 16))
  .option('--users <n>', 'users who come at once; one in ten insists', whole(1, 10_000), 100)
  .option('--insistence <n>', 'how many requests the one in ten sends', whole(1, 100), 8)
  .option('--stock <n>', 'vouchers for sale', whole(0, 1_000_000), 20)
  .option('--seed <n>', 'decides who comes in which order', whole(0, 2 ** 31), 1)
  .option('--work-ms <n>', 'time between a sale’s check and its write', whole(0, 10_000), 100)
  .option('--retries <n>', 'how often an optimistic sale that lost is tried again', whole(0, 50), 0)
  .option('--hold <where>', 'hold the n-th who passes a checkpoint: after-check:1:500', hold)
  .addOption(
    new Option('--balancer <which>', 'who shares the requests out')
      .choices(['nginx', 'cluster'])
      .default('nginx'),
  )
  .action((rung, { hold: holds = [], ...options }) => run(place, rung, { ...options, holds }));
command('audit', 'check one voucher: MySQL, Redis, and what clients were told where a run kept it')
  .argument('<voucherId>', 'its id')
  .action((voucherId, options) => auditVoucher(place, voucherId, options));
command('race', 'play a famous race step by step through nginx, on the rung that has it')
  .argument('<name>', `one of ${raceNames.join(', ')}`)
  .option('--rung <rung>', 'play it on this rung instead')
  .option('--times <n>', 'play it so many times', whole(1, 1_000), 1)
  .action((name, options) => race(place, name, options));
command('replay', 'show a recorded race again, without servers')
  .argument('<file>', 'a race’s folder, or its race.json')
  .action(replay);
command('demo', 'walk the whole ladder and write a report').action((options) => demo(place, options));
command('bench', 'purchase against an authenticated no-op, through the same nginx (needs wrk)')
  .option('--seconds <n>', 'how long each of the two is measured, three times', whole(1, 120), 5)
  .option('--connections <n>', 'how many clients ask at once', whole(1, 1_000), 128)
  .action((options) => bench(place, options));
command('bench-locks', 'what each lock costs, alone and with fifty who want it').action((options) =>
  benchLocks(place, options),
);
command('up', 'start the lab and leave it running').action((options) => up(place, options));
command('down', 'stop the lab').action((options) => down(place, options));
command('status', 'what of the lab is running').action((options) => status(place, options));

const cause = (error: Error): string => (error.cause instanceof Error ? ` (${error.cause.message})` : '');

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof LockstepError) console.error(wrap(`${error.code}: ${error.message}${cause(error)}`));
  else console.error(error);
  process.exitCode = 2;
}
