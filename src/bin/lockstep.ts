/** The command line. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { errorsInChinese, usageInChinese } from '../cli/errors-zh.ts';
import { languageOf, languageVariable } from '../cli/options.ts';
import { type AddCommand, exitCodes, printError } from '../cli/output.ts';
import { LockstepError } from '../errors.ts';
import { placeOfWork } from '../lab/environment/place.ts';
import { wrap, wrapLines } from '../lab/report/wrap.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const place = placeOfWork(process.env);
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

/** The file of a command is loaded when it is called: all of them take more than a second. */
const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  ladder: async () => (await import('../cli/ladder.ts')).addLadder,
  run: async () => (await import('../cli/run.ts')).addRun,
  race: async () => (await import('../cli/race.ts')).addRace,
  replay: async () => (await import('../cli/replay.ts')).addReplay,
  demo: async () => (await import('../cli/demo.ts')).addDemo,
  drill: async () => (await import('../cli/drill.ts')).addDrill,
  soak: async () => (await import('../cli/soak.ts')).addSoak,
  scoreboard: async () => (await import('../cli/scoreboard.ts')).addScoreboard,
  erratum: async () => (await import('../cli/erratum.ts')).addErratum,
  workshop: async () => (await import('../cli/workshop.ts')).addWorkshop,
  exercise: async () => (await import('../cli/exercise.ts')).addExercise,
  'hunt-bug': async () => (await import('../cli/exercise.ts')).addHuntBug,
  mine: async () => (await import('../cli/mine.ts')).addMine,
  verify: async () => (await import('../cli/mine.ts')).addVerify,
  up: async () => (await import('../cli/up.ts')).addUp,
  page: async () => (await import('../cli/page.ts')).addPage,
  down: async () => (await import('../cli/down.ts')).addDown,
  status: async () => (await import('../cli/status.ts')).addStatus,
  voucher: async () => (await import('../cli/voucher.ts')).addVoucher,
  buy: async () => (await import('../cli/buy.ts')).addBuy,
  token: async () => (await import('../cli/token.ts')).addToken,
  locks: async () => (await import('../cli/locks.ts')).addLocks,
  audit: async () => (await import('../cli/audit.ts')).addAudit,
  fault: async () => (await import('../cli/fault.ts')).addFault,
  break: async () => (await import('../cli/break.ts')).addBreak,
  'dead-letters': async () => (await import('../cli/dead-letters.ts')).addDeadLetters,
  reconcile: async () => (await import('../cli/reconcile.ts')).addReconcile,
  'ended-sales': async () => (await import('../cli/ended-sales.ts')).addEndedSales,
  bench: async () => (await import('../cli/bench.ts')).addBench,
  'bench-locks': async () => (await import('../cli/bench-locks.ts')).addBenchLocks,
  conformance: async () => (await import('../cli/conformance.ts')).addConformance,
  mutants: async () => (await import('../cli/mutants.ts')).addMutants,
  trial: async () => (await import('../cli/trial.ts')).addTrial,
  docs: async () => (await import('../cli/docs.ts')).addDocs,
};
const called = new Map(Object.entries(commands)).get(process.argv[2] ?? '');
for (const load of called ? [called] : Object.values(commands)) (await load())(program, place);

if (isChinese) tellInChinese(program);

/** What commander refuses is not one of our errors. */
function tellInChinese(command: Command): void {
  command.configureOutput({ outputError: (text, write) => write(`${usageInChinese}\n${text}`) });
  for (const each of command.commands) tellInChinese(each);
}

const cause = (error: Error): string =>
  error.cause instanceof Error ? ` (${error.cause.message})` : '';

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof LockstepError) {
    const message = `${error.message}${cause(error)}`;
    printError(error.code, message);
    if (isChinese) console.error(wrap(`${error.code}：${errorsInChinese[error.code] ?? ''}`));
    console.error(wrapLines(`${error.code}: ${message}`));
  } else {
    printError('UNEXPECTED', String(error));
    console.error(error);
  }
  process.exitCode = 2;
}
