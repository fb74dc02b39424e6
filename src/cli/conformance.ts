import { InvalidArgumentError, Option } from 'commander';
import { conformanceMarkdown, conformanceText, measuredOn } from '../lab/conformance/report.ts';
import { runEach, runHere } from '../lab/conformance/run-all.ts';
import type { ClauseResult, SubjectResult } from '../lab/conformance/run-subject.ts';
import { conformanceSubjects } from '../lab/conformance/subjects.ts';
import { fileLine } from '../lab/report/file-words.ts';
import { textReport, writeFolder } from '../lab/report/folder.ts';
import { json, whole } from './options.ts';
import {
  type AddCommand,
  type Answer,
  type JsonOption,
  type Place,
  print,
  progress,
  setExitCode,
} from './output.ts';

interface ConformanceOptions extends JsonOption {
  readonly markdown: boolean;
  readonly here: boolean;
  readonly fromPort: number;
}

const names = conformanceSubjects.map(({ name }) => name);

function subject(name: string, earlier: readonly string[] = []): readonly string[] {
  if (!names.includes(name)) throw new InvalidArgumentError(`The locks are: ${names.join(', ')}.`);
  return [...earlier, name];
}

export const addConformance: AddCommand = (program, place) =>
  program
    .command('conformance')
    .description('run the clauses of a lock on ours and on other packages, in about two minutes')
    .argument('[locks...]', 'only these locks (default: all)', subject)
    .addOption(json())
    .option('--markdown', 'print Markdown instead of text', false)
    .addOption(new Option('--here', 'one lock, in this process').default(false).hideHelp())
    .addOption(
      new Option('--from-port <port>', 'where to look for three free ports')
        .argParser(whole(1_024, 60_000))
        .default(19_300)
        .hideHelp(),
    )
    .action((chosen: readonly string[], options: ConformanceOptions) =>
      conformance(place, chosen, options),
    );

async function conformance(
  { runsFolder }: Place,
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
  const command = [process.argv[1] ?? '', 'conformance', '--here'];
  const results = await runEach(subjects, command, progress);
  const machine = await measuredOn();
  const text = conformanceText(results, machine);
  const asMarkdown = conformanceMarkdown(results, machine);
  const folder = writeFolder(runsFolder, 'conformance', {
    'results.json': results,
    ...textReport('conformance', text),
    'report.md': asMarkdown,
  });
  const where = fileLine('report', `${folder}/report.md`);
  print(json, results, () => (markdown ? asMarkdown : `\n${text}\n\n${where}`));
  setExitCode(results.flatMap(answersOf));
}

/** Other packages may break a clause; ours break what the ladder claims, and nothing else. */
export function answersOf({ isOurs, results }: SubjectResult): Answer[] {
  const answer = ({ verdict, isClaimed }: ClauseResult): Answer => {
    if (verdict === 'unknown') return 'unknown';
    return !isOurs || isClaimed === (verdict === 'broken') ? 'yes' : 'no';
  };
  return results.map(answer);
}
