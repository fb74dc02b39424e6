/** The command line: each command is a file in cli/. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { addAudit } from '../cli/audit.ts';
import { addBench } from '../cli/bench.ts';
import { addBenchLocks } from '../cli/bench-locks.ts';
import { addBreak } from '../cli/break.ts';
import { addBuy } from '../cli/buy.ts';
import { addConformance } from '../cli/conformance.ts';
import { addDeadLetters } from '../cli/dead-letters.ts';
import { addDemo } from '../cli/demo.ts';
import { addDocs } from '../cli/docs.ts';
import { addDown } from '../cli/down.ts';
import { addDrill } from '../cli/drill.ts';
import { addEndedSales } from '../cli/ended-sales.ts';
import { addErratum } from '../cli/erratum.ts';
import { errorsInChinese, usageInChinese } from '../cli/errors-zh.ts';
import { addExercise, addHuntBug } from '../cli/exercise.ts';
import { addFault } from '../cli/fault.ts';
import { addLadder } from '../cli/ladder.ts';
import { addLocks } from '../cli/locks.ts';
import { addMine, addVerify } from '../cli/mine.ts';
import { addMutants } from '../cli/mutants.ts';
import { languageOf, languageVariable } from '../cli/options.ts';
import { exitCodes, printError } from '../cli/output.ts';
import { addPage } from '../cli/page.ts';
import { addRace } from '../cli/race.ts';
import { addReconcile } from '../cli/reconcile.ts';
import { addReplay } from '../cli/replay.ts';
import { addRun } from '../cli/run.ts';
import { addScoreboard } from '../cli/scoreboard.ts';
import { addSoak } from '../cli/soak.ts';
import { addStatus } from '../cli/status.ts';
import { addToken } from '../cli/token.ts';
import { addTrial } from '../cli/trial.ts';
import { addUp } from '../cli/up.ts';
import { addVoucher } from '../cli/voucher.ts';
import { addWorkshop } from '../cli/workshop.ts';
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

const learn = [addLadder, addRun, addRace, addReplay, addDemo, addDrill, addSoak, addScoreboard];
const byHand = [
  addUp,
  addPage,
  addDown,
  addStatus,
  addVoucher,
  addBuy,
  addToken,
  addLocks,
  addAudit,
  addFault,
  addBreak,
];
const workshop = [addErratum, addWorkshop, addExercise, addHuntBug, addMine, addVerify];
const operate = [addDeadLetters, addReconcile, addEndedSales];
const measure = [addBench, addBenchLocks, addConformance, addMutants, addTrial, addDocs];
for (const add of [...learn, ...workshop, ...byHand, ...operate, ...measure]) add(program, place);

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
