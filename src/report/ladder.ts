/** The ladder as a table: what each rung does and what it claims. */
import { ladder, type Rung, rungNames } from '../ladder.ts';
import { wrap } from './sentences.ts';
import { plainTable } from './table.ts';

export interface LadderRow {
  readonly chapter: number;
  readonly rung: string;
  readonly idea: string;
  readonly instances: number;
  readonly promises: readonly string[];
  readonly breaks: Rung['breaks'];
}

export const ladderRows = (): LadderRow[] =>
  rungNames.map((rung) => {
    const { chapter, idea, instances, onePerUser, breaks }: Rung = ladder[rung];
    const promises = ['no-oversell', ...(onePerUser ? ['one-order-per-user'] : [])];
    return { chapter, rung, idea, instances, promises, breaks };
  });

export const claimText = ({ breaks, promises }: LadderRow): string =>
  breaks.length === 0
    ? `holds ${promises.join(', ')}`
    : breaks.map(({ check, under }) => `breaks ${check} under ${under}`).join('; ');

export function ladderTable(): string {
  const rows = ladderRows();
  const table = plainTable(
    ['ch', 'rung', 'idea'],
    rows.map(({ chapter, rung, idea }) => [String(chapter), rung, idea]),
    3,
  );
  const claims = rows.map((row) => wrap(`${row.rung.padEnd(18)}${claimText(row)}`, 79, ' '.repeat(18)));
  return `${table}\n\n${claims.join('\n')}`;
}

/** For the README, which a test holds to this. */
export function ladderMarkdown(): string {
  const cells = ladderRows().map((row) => [
    row.chapter,
    `\`${row.rung}\``,
    row.idea,
    row.instances,
    claimText(row),
  ]);
  const lines = [['ch', 'rung', 'what it does', 'instances', 'claim'], ['-', '-', '-', '-', '-'], ...cells];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}
