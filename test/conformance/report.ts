/** The result of all clauses on all subjects, as text for a terminal and as Markdown. */
import { cpus } from 'node:os';
import { execa } from 'execa';
import { programPath } from '../../src/lab/environment/processes.ts';
import { markdownTable, tableText } from '../../src/lab/report/table.ts';
import { wrap } from '../../src/lab/report/wrap.ts';
import type { Answer } from '../../src/lab/stage/result.ts';
import type { ClauseVerdict } from './clause.ts';
import { conformanceClauses } from './clauses.ts';
import type { ClauseResult, SubjectResult } from './run.ts';

const marks: Readonly<Record<ClauseVerdict, string>> = {
  held: '✓',
  broken: '✗',
  unknown: '?',
  skipped: '–',
};

const legend = `✓ held   ✗ broken   – not about this lock   ? could not be measured`;
const claimed = 'as the ladder claims';

const clauseHeads = conformanceClauses.map(({ head }) => head);
const row = ({ subject, results }: SubjectResult): string[] => [
  subject,
  ...results.map(({ verdict }) => marks[verdict]),
];

/** A line for each clause that is broken or unknown, and for each claim that was not seen. */
function notes({ subject, results }: SubjectResult): string[] {
  return results.filter(isNotable).map((result) => {
    const why = result.isClaimed ? ` (${claimed}${isWrongClaim(result) ? ': NOT SEEN' : ''})` : '';
    return `${marks[result.verdict]} ${subject}, ${result.clause}: ${result.measured}${why}`;
  });
}

const isWrongClaim = ({ verdict, isClaimed }: ClauseResult): boolean =>
  isClaimed && verdict !== 'broken';
const isNotable = (result: ClauseResult): boolean =>
  result.verdict === 'broken' || result.verdict === 'unknown' || isWrongClaim(result);

export function conformanceText(results: readonly SubjectResult[], machine: string): string {
  const columns = conformanceClauses.map(({ head, proves }) => wrap(`${head.padEnd(6)}${proves}`));
  const setups = results
    .filter(({ isOurs }) => !isOurs)
    .map(({ subject, setup }) => wrap(`${subject}: ${setup}`));
  return [
    tableText({
      title: '',
      head: ['lock', ...clauseHeads],
      rows: results.map(row),
      textColumns: 1,
    }),
    legend,
    columns.join('\n'),
    results
      .flatMap(notes)
      .map((note) => wrap(note))
      .join('\n'),
    ...(setups.length > 0 ? [setups.join('\n')] : []),
    wrap(machine),
  ].join('\n\n');
}

export function conformanceMarkdown(results: readonly SubjectResult[], machine: string): string {
  return [
    markdownTable([['lock', ...clauseHeads], ...results.map(row)]),
    legend,
    results
      .flatMap(notes)
      .map((note) => `- ${note}`)
      .join('\n'),
    'Set up like this:',
    results
      .filter(({ isOurs }) => !isOurs)
      .map(({ subject, setup }) => `- ${subject}: ${setup}`)
      .join('\n'),
    `\`npm run conformance\`, ${machine}`,
  ].join('\n\n');
}

/** One line: what it was measured on. */
export async function measuredOn(): Promise<string> {
  const { stdout } = await execa(programPath('redis-server'), ['--version']);
  const redis = /v=(\S+)/.exec(stdout)?.[1] ?? 'unknown';
  const day = new Date().toISOString().slice(0, 10);
  const cores = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`;
  return `${day}: ${cores}, node ${process.version}, Redis ${redis}`;
}

/** Other packages may break a clause; ours break what the ladder claims, and nothing else. */
export function answersOf({ isOurs, results }: SubjectResult): Answer[] {
  const answer = ({ verdict, isClaimed }: ClauseResult): Answer => {
    if (verdict === 'unknown') return 'unknown';
    return !isOurs || isClaimed === (verdict === 'broken') ? 'yes' : 'no';
  };
  return results.map(answer);
}
