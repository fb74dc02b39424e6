/** The ladder for people: what each rung does and what it claims. */
import { ladder, type Rung, rungNames } from '../ladder.ts';
import { raceNames, schedules } from '../races/schedules.ts';
import { wrap } from './sentences.ts';

export interface LadderRow {
  readonly chapter: number;
  readonly rung: string;
  readonly idea: string;
  readonly instances: number;
  readonly promises: readonly string[];
  readonly breaks: Rung['breaks'];
}

export const chapters: Readonly<Record<number, string>> = {
  1: 'stock',
  2: 'one order per user, one instance',
  3: 'cluster',
  4: 'failover',
  5: 'queues',
  6: 'final',
};

export const ladderRows = (): LadderRow[] =>
  rungNames.map((rung) => {
    const { chapter, idea, instances, onePerUser, breaks }: Rung = ladder[rung];
    const promises = ['no-oversell', ...(onePerUser ? ['one-order-per-user'] : [])];
    return { chapter, rung, idea, instances, promises, breaks };
  });

/** `breaks a, b under c; d under e`, or what it holds. */
export function claimText({ breaks, promises }: LadderRow): string {
  if (breaks.length === 0) return `holds ${promises.join(', ')}`;
  const byCircumstance = groups(breaks);
  return `breaks ${byCircumstance.map(([under, checks]) => `${checks.join(', ')} under ${under}`).join('; ')}`;
}

function groups(breaks: Rung['breaks']): [string, string[]][] {
  const checks = new Map<string, string[]>();
  for (const { under, check } of breaks) checks.set(under, [...(checks.get(under) ?? []), check]);
  return [...checks];
}

/** Chapter by chapter, each rung with its idea and its claim. */
export function ladderText(): string {
  const rows = ladderRows();
  const inChapters = [...new Set(rows.map(({ chapter }) => chapter))];
  const rung = (row: LadderRow) =>
    [
      `  ${row.rung}`,
      wrap(`      ${row.idea}`, 79, '      '),
      wrap(`      ${claimText(row)}`, 79, '      '),
    ].join('\n');
  const chapter = (number: number) =>
    [`${number} ${chapters[number]}`, ...rows.filter((row) => row.chapter === number).map(rung)].join('\n');
  return inChapters.map(chapter).join('\n\n');
}

/** For docs/races.md, which a test holds to this. */
export function raceMarkdown(): string {
  const rows = raceNames.map((race) => {
    const { title, rung, next } = schedules[race];
    return [`\`${race}\``, title, `\`${rung}\``, `\`${next}\``];
  });
  return markdownTable([['race', 'what goes wrong', 'has it', 'has not'], ...rows]);
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
  return markdownTable([['ch', 'rung', 'what it does', 'instances', 'claim'], ...cells]);
}

function markdownTable([head = [], ...rows]: (string | number)[][]): string {
  return [head, head.map(() => '-'), ...rows].map((line) => `| ${line.join(' | ')} |`).join('\n');
}
