/** `npm run conformance`: the clauses of a lock on ours and on other packages. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { print, progress, setExitCode, tellError } from '../../src/cli/output.ts';
import { workFolders } from '../../src/lab/environment/work-folders.ts';
import { fileLine } from '../../src/lab/report/file-words.ts';
import { textReport, writeFolder } from '../../src/lab/report/folder.ts';
import { wholeNumber } from '../../src/service/operate/words.ts';
import { answersOf, conformanceMarkdown, conformanceText, measuredOn } from './report.ts';
import { runEach, runHere } from './run.ts';
import { conformanceSubjects } from './subjects.ts';

interface ConformanceOptions {
  readonly json: boolean;
  readonly markdown: boolean;
  readonly here: boolean;
  readonly fromPort: number;
}

const names = conformanceSubjects.map(({ name }) => name);

function subject(name: string, earlier: readonly string[] = []): readonly string[] {
  if (!names.includes(name)) throw new InvalidArgumentError(`The locks are: ${names.join(', ')}.`);
  return [...earlier, name];
}

async function conformance(
  chosen: readonly string[],
  { json, markdown, here, fromPort }: ConformanceOptions,
): Promise<void> {
  const subjects = conformanceSubjects.filter(
    ({ name }) => chosen.length === 0 || chosen.includes(name),
  );
  const [first] = subjects;
  if (here && first) {
    print(true, await runHere(first, fromPort), String);
    process.exit(0); // Some packages never end their timers.
  }
  const results = await runEach(subjects, [process.argv[1] ?? '', '--here'], progress);
  const machine = await measuredOn();
  const text = conformanceText(results, machine);
  const asMarkdown = conformanceMarkdown(results, machine);
  const folder = writeFolder(workFolders(process.env).runsFolder, 'conformance', {
    'results.json': results,
    ...textReport('conformance', text),
    'report.md': asMarkdown,
  });
  const where = fileLine('report', `${folder}/report.md`);
  print(json, results, () => (markdown ? asMarkdown : `\n${text}\n\n${where}`));
  setExitCode(results.flatMap(answersOf));
}

await new Command('npm run conformance --')
  .description('run the clauses of a lock on ours and on other packages, in about two minutes')
  .argument('[locks...]', 'only these locks (default: all)', subject)
  .option('--json', 'print JSON instead of text', false)
  .option('--markdown', 'print Markdown instead of text', false)
  .addOption(new Option('--here', 'one lock, in this process').default(false).hideHelp())
  .addOption(
    new Option('--from-port <port>', 'where to look for three free ports')
      .argParser((text) => wholeNumber(1_024, 60_000).parse(Number(text)))
      .default(19_300)
      .hideHelp(),
  )
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2)) // 1: not as claimed.
  .action(conformance)
  .parseAsync()
  .catch((error: unknown) => tellError(error));
