/** The command line. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { languageVariable } from '../lab/commands/options.ts';
import { workFolders } from '../lab/environment/work-folders.ts';
import { type AddCommand, languageOf } from './command.ts';
import { usageInChinese } from './errors-zh.ts';
import { helpWords } from './help.ts';
import { printError, tellError } from './output.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const folders = workFolders(process.env);
const language = languageOf(process.argv, process.env);
const isChinese = language === 'zh';
const words = helpWords[language];
process.env[languageVariable] ??= language; // For the options, and for what a command starts.

const program = new Command('lockstep')
  .enablePositionalOptions() // `workshop` and its commands have options of one name.
  .description(words.about)
  .version(version, '--version', words.version)
  .helpOption('-h, --help', words.help)
  .helpCommand('help [command]', words.help)
  .addHelpText('after', words.after)
  .configureHelp(words.layout)
  .showHelpAfterError(words.tryHelp)
  .exitOverride(({ exitCode, code, message }) => {
    if (exitCode !== 0) printError(code, message);
    process.exit(exitCode === 0 ? 0 : 2);
  });

type Load = () => Promise<AddCommand>;

/** By the groups of --help. A command is loaded when it is called: all take more than a second. */
const groups: readonly (readonly [title: string, commands: Readonly<Record<string, Load>>])[] = [
  [
    words.groups.learn,
    {
      ladder: async () => (await import('./show.ts')).addLadder,
      run: async () => (await import('./run.ts')).addRun,
      race: async () => (await import('./race.ts')).addRace,
      replay: async () => (await import('./show.ts')).addReplay,
      demo: async () => (await import('./demo.ts')).addDemo,
      workshop: async () => (await import('./workshop.ts')).addWorkshop,
      exercise: async () => (await import('./exercise.ts')).addExercise,
      'hunt-bug': async () => (await import('./exercise.ts')).addHuntBug,
      mine: async () => (await import('./exercise.ts')).addMine,
      verify: async () => (await import('./exercise.ts')).addVerify,
      erratum: async () => (await import('./erratum.ts')).addErratum,
      page: async () => (await import('./lab.ts')).addPage,
    },
  ],
  [
    words.groups.break,
    {
      drill: async () => (await import('./drill.ts')).addDrill,
      soak: async () => (await import('./drill.ts')).addSoak,
      scoreboard: async () => (await import('./scoreboard.ts')).addScoreboard,
      break: async () => (await import('./by-hand.ts')).addBreak,
      fault: async () => (await import('./by-hand.ts')).addFault,
      locks: async () => (await import('./by-hand.ts')).addLocks,
      mutants: async () => (await import('./mutants.ts')).addMutants,
      trial: async () => (await import('./mutants.ts')).addTrial,
    },
  ],
  [
    words.groups.measure,
    {
      bench: async () => (await import('./bench.ts')).addBench,
      'bench-locks': async () => (await import('./bench-locks.ts')).addBenchLocks,
    },
  ],
  [
    words.groups.operate,
    {
      up: async () => (await import('./lab.ts')).addUp,
      down: async () => (await import('./lab.ts')).addDown,
      status: async () => (await import('./lab.ts')).addStatus,
      voucher: async () => (await import('./buy.ts')).addVoucher,
      buy: async () => (await import('./buy.ts')).addBuy,
      token: async () => (await import('./token.ts')).addToken,
      audit: async () => (await import('./operate.ts')).addAudit,
      'dead-letters': async () => (await import('./operate.ts')).addDeadLetters,
      reconcile: async () => (await import('./operate.ts')).addReconcile,
      'ended-sales': async () => (await import('./operate.ts')).addEndedSales,
      docs: async () => (await import('./docs.ts')).addDocs,
    },
  ],
];
const called = process.argv[2] ?? '';
const isCommand = groups.some(([, group]) => Object.hasOwn(group, called));
for (const [title, group] of groups) {
  program.commandsGroup(title);
  for (const [command, load] of Object.entries(group))
    if (!isCommand || command === called) (await load())(program, folders, language);
}

if (isChinese) tellInChinese(program);

/** What commander refuses is not one of our errors. */
function tellInChinese(command: Command): void {
  command.configureOutput({ outputError: (text, write) => write(`${usageInChinese}\n${text}`) });
  for (const each of command.commands) tellInChinese(each);
}

await program.parseAsync().catch((error: unknown) => tellError(error, isChinese));
