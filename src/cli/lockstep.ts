/** The command line. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { workFolders } from '../lab/environment/work-folders.ts';
import { usageInChinese } from './errors-zh.ts';
import { languageOf, languageVariable } from './options.ts';
import { type AddCommand, exitCodes, printError, tellError } from './output.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const folders = workFolders(process.env);
const language = languageOf(process.argv, process.env);
const isChinese = language === 'zh';
process.env[languageVariable] ??= language; // For the options, and for what a command starts.

const program = new Command('lockstep')
  .enablePositionalOptions() // `workshop` and its commands have options of one name.
  .description(
    'A flash sale, and the lab that shows which protections work, which break, and what each costs.',
  )
  .version(version, '--version', 'print the version of this checkout')
  .addHelpText(
    'after',
    `\n${exitCodes}\nStart with: npx lockstep ladder; npx lockstep run mutex-per-user --instances 4`,
  )
  .configureHelp({ minWidthToWrap: 30 }) // On 80 columns too.
  .showHelpAfterError('(try --help)')
  .exitOverride(({ exitCode, code, message }) => {
    if (exitCode !== 0) printError(code, message);
    process.exit(exitCode === 0 ? 0 : 2);
  });

type Load = () => Promise<AddCommand>;

/** By the groups of --help. A command is loaded when it is called: all take more than a second. */
const groups: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  Learn: {
    ladder: async () => (await import('./ladder.ts')).addLadder,
    run: async () => (await import('./run.ts')).addRun,
    race: async () => (await import('./race.ts')).addRace,
    replay: async () => (await import('./replay.ts')).addReplay,
    demo: async () => (await import('./demo.ts')).addDemo,
    workshop: async () => (await import('./workshop.ts')).addWorkshop,
    exercise: async () => (await import('./exercise.ts')).addExercise,
    'hunt-bug': async () => (await import('./exercise.ts')).addHuntBug,
    mine: async () => (await import('./mine.ts')).addMine,
    verify: async () => (await import('./mine.ts')).addVerify,
    erratum: async () => (await import('./erratum.ts')).addErratum,
    page: async () => (await import('./page.ts')).addPage,
  },
  Break: {
    drill: async () => (await import('./drill.ts')).addDrill,
    soak: async () => (await import('./soak.ts')).addSoak,
    scoreboard: async () => (await import('./scoreboard.ts')).addScoreboard,
    break: async () => (await import('./break.ts')).addBreak,
    fault: async () => (await import('./fault.ts')).addFault,
    locks: async () => (await import('./locks.ts')).addLocks,
    mutants: async () => (await import('./mutants.ts')).addMutants,
    trial: async () => (await import('./trial.ts')).addTrial,
  },
  Measure: {
    bench: async () => (await import('./bench.ts')).addBench,
    'bench-locks': async () => (await import('./bench-locks.ts')).addBenchLocks,
  },
  Operate: {
    up: async () => (await import('./up.ts')).addUp,
    down: async () => (await import('./down.ts')).addDown,
    status: async () => (await import('./status.ts')).addStatus,
    voucher: async () => (await import('./voucher.ts')).addVoucher,
    buy: async () => (await import('./buy.ts')).addBuy,
    token: async () => (await import('./token.ts')).addToken,
    audit: async () => (await import('./audit.ts')).addAudit,
    'dead-letters': async () => (await import('./dead-letters.ts')).addDeadLetters,
    reconcile: async () => (await import('./reconcile.ts')).addReconcile,
    'ended-sales': async () => (await import('./ended-sales.ts')).addEndedSales,
    docs: async () => (await import('./docs.ts')).addDocs,
  },
};
const called = process.argv[2] ?? '';
const isCommand = Object.values(groups).some((group) => Object.hasOwn(group, called));
for (const [name, group] of Object.entries(groups)) {
  program.commandsGroup(`${name}:`);
  for (const [command, load] of Object.entries(group))
    if (!isCommand || command === called) (await load())(program, folders);
}

if (isChinese) tellInChinese(program);

/** What commander refuses is not one of our errors. */
function tellInChinese(command: Command): void {
  command.configureOutput({ outputError: (text, write) => write(`${usageInChinese}\n${text}`) });
  for (const each of command.commands) tellInChinese(each);
}

await program.parseAsync().catch((error: unknown) => tellError(error, isChinese));
