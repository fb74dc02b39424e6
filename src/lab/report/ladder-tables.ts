/** The ladder for people: what each rung does and what it claims. */
import type { CheckName } from '../../domain.ts';
import { circumstances, type Rung } from '../../ladder/rung.ts';
import { ladder, rungNames } from '../../ladder/rungs.ts';
import { type Language, texts } from '../../ladder/texts/texts.ts';
import { allRaces } from '../drills/demo-plan.ts';
import { type RaceName, raceNames, type Schedule, schedules } from '../races/schedules.ts';
import { markdownTable } from './markdown-table.ts';
import { wrap } from './wrap.ts';

export interface LadderRow {
  readonly chapter: Rung['chapter'];
  readonly rung: string;
  readonly idea: string;
  readonly lesson: string;
  readonly instances: number;
  readonly promises: readonly CheckName[];
  readonly breaks: readonly {
    readonly under: string;
    readonly check: CheckName;
    readonly because: string;
  }[];
}

export const ladderRows = (language: Language = 'en'): LadderRow[] =>
  rungNames.map((rung) => {
    const { chapter, instances, onePerUser, breaks }: Rung = ladder[rung];
    const { rungs, reasons } = texts[language];
    const promises: CheckName[] = [
      'no-oversell',
      ...(onePerUser ? (['one-order-per-user'] as const) : []),
    ];
    const explained = breaks.map((each) => ({ ...each, because: reasons[each.because] }));
    return { chapter, rung, ...rungs[rung], instances, promises, breaks: explained };
  });

/**
 * `breaks a, b under c, d; a under e`, or what it holds. Circumstances that break the same promises
 * stand together.
 */
export function claimText({ breaks, promises }: LadderRow, between = '; '): string {
  if (breaks.length === 0) return `holds ${promises.join(', ')}`;
  const checks = new Map<string, string[]>();
  for (const { under, check } of breaks) checks.set(under, [...(checks.get(under) ?? []), check]);
  const circumstancesOf = new Map<string, string[]>();
  for (const [under, each] of checks) {
    const broken = each.join(', ');
    circumstancesOf.set(broken, [...(circumstancesOf.get(broken) ?? []), under]);
  }
  const texts = [...circumstancesOf].map(([broken, each]) => `${broken} under ${each.join(', ')}`);
  return `breaks ${texts.join(between)}`;
}

/** Chapter by chapter, each rung with its idea and its claim. */
export function ladderText(language: Language = 'en'): string {
  const rows = ladderRows(language);
  const chapters = [...new Set(rows.map(({ chapter }) => chapter))];
  const rung = (row: LadderRow) =>
    [
      `  ${row.rung}`,
      wrap(`      ${row.idea}`, 79, '      '),
      wrap(`      ${claimText(row)}`, 79, '      '),
    ].join('\n');
  const chapter = (number: Rung['chapter']) => {
    const inChapter = rows.filter((row) => row.chapter === number).map(rung);
    return [`${number} ${texts[language].chapters[number]}`, ...inChapter].join('\n');
  };
  return chapters.map(chapter).join('\n\n');
}

/** For docs/ladder.md. */
export function ladderMarkdown(language: Language = 'en'): string {
  const cells = ladderRows(language).map((row) => [
    row.chapter,
    `\`${row.rung}\``,
    row.idea,
    row.instances,
    claimText(row, '<br>'),
  ]);
  return markdownTable([['ch', 'rung', 'what it does', 'instances', 'claim'], ...cells]);
}

/** For docs/races.md. */
export function raceMarkdown(): string {
  const rows = raceNames.map((race) => {
    const { title, rung, next }: Schedule = schedules[race];
    const [shown, by] = next === undefined ? ['none', '–'] : [`\`${rung}\``, `\`${next}\``];
    return [`\`${race}\``, title, shown, by];
  });
  return markdownTable([
    ['race', 'what goes wrong', 'on the rung with the bug', 'fixed by'],
    ...rows,
  ]);
}

/** The races of faults that the drills play, and the claim on each rung. For docs/races.md. */
export function playedMarkdown(): string {
  const faults = raceNames.filter((race) => circumstances[schedules[race].under] === 'fault');
  const rows = faults.map((race) => {
    const { shows } = schedules[race];
    const rungs = allRaces.filter((each) => each.race === race).map(({ rung }) => rung);
    const claiming = (claim: string) =>
      rungs.filter((rung) => claimedOutcome(ladder[rung], race) === claim).join(', ') || '–';
    return [`\`${race}\``, shows, ...['violated', 'other', 'held'].map(claiming)];
  });
  return markdownTable([
    ['race', 'is about', 'violated on', 'breaks another promise on', 'held on'],
    ...rows,
  ]);
}

function claimedOutcome({ breaks }: Rung, race: RaceName): 'violated' | 'other' | 'held' {
  const { under, shows } = schedules[race];
  const broken = breaks.filter((each) => each.under === under).map(({ check }) => check);
  if (broken.includes(shows)) return 'violated';
  return broken.length > 0 ? 'other' : 'held';
}
