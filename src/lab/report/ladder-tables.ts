/** The ladder for people: what each rung does and what it claims. */
import type { CheckName } from '../../service/domain.ts';
import { type Circumstance, circumstances, type Rung } from '../../service/ladder/rung.ts';
import { ladder, rungNames } from '../../service/ladder/rungs.ts';
import { type Language, texts } from '../../texts/texts.ts';
import { allRaces } from '../drills/demo-plan.ts';
import { type RaceName, raceNames, type Schedule, schedules } from '../play/schedules.ts';
import { markdownTable } from './table.ts';
import { wrap } from './wrap.ts';

export interface LadderRow {
  readonly chapter: Rung['chapter'];
  readonly rung: string;
  readonly idea: string;
  readonly lesson: string;
  readonly instances: number;
  readonly promises: readonly CheckName[];
  readonly breaks: readonly {
    readonly under: Circumstance;
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
function claimText({ breaks, promises }: LadderRow, language: Language): string {
  const { holds, broken, between } = claims[language];
  if (breaks.length === 0) return holds(promises);
  const checks = new Map<Circumstance, CheckName[]>();
  for (const { under, check } of breaks) checks.set(under, [...(checks.get(under) ?? []), check]);
  const circumstancesOf = Map.groupBy(checks.keys(), (under) => broken(checks.get(under) ?? []));
  return claims[language].breaks([...circumstancesOf]).join(between);
}

type BrokenPromises = readonly (readonly [broken: string, under: readonly Circumstance[]])[];

const brokenInChinese: Readonly<Record<CheckName, string>> = {
  'no-oversell': '超卖',
  'one-order-per-user': '一人多单',
  'no-lost-orders': '丢单',
  'no-phantom-orders': '凭空多出订单',
  'redis-matches-mysql': 'Redis 和 MySQL 不一致',
  'order-ids-unique': '订单号重复',
  'responses-match-database': '响应与数据库不符',
  'mutual-exclusion': '同时有两个持有者',
  progress: '空闲的锁拿不到',
};

/** In English by the names that commands take, in Chinese by what they mean. */
const claims = {
  en: {
    between: '; ',
    holds: (promises: readonly CheckName[]) => `holds ${promises.join(', ')}`,
    broken: (checks: readonly CheckName[]) => checks.join(', '),
    breaks: (all: BrokenPromises) =>
      all.map(
        ([broken, under], place) =>
          `${place === 0 ? 'breaks ' : ''}${broken} under ${under.join(', ')}`,
      ),
  },
  zh: {
    between: '。',
    holds: (promises: readonly CheckName[]) =>
      `保证${promises.map((name) => texts.zh.checks[name]).join('、')}`,
    broken: (checks: readonly CheckName[]) =>
      checks.map((name) => brokenInChinese[name]).join('、'),
    breaks: (all: BrokenPromises) =>
      all.map(
        ([broken, under]) =>
          `${broken}：${under.map((name) => texts.zh.circumstances[name]).join('；')}`,
      ),
  },
} as const satisfies Record<Language, unknown>;

/** Chapter by chapter, each rung with its idea and its claim. */
export function ladderText(language: Language = 'en'): string {
  const rows = ladderRows(language);
  const chapters = [...new Set(rows.map(({ chapter }) => chapter))];
  const rung = (row: LadderRow) =>
    [
      `  ${row.rung}`,
      wrap(`      ${row.idea}`, 79, '      '),
      wrap(`      ${claimText(row, language)}`, 79, '      '),
    ].join('\n');
  const chapter = (number: Rung['chapter']) => {
    const inChapter = rows.filter((row) => row.chapter === number).map(rung);
    return [`${number} ${texts[language].chapters[number]}`, ...inChapter].join('\n');
  };
  return chapters.map(chapter).join('\n\n');
}

const code = (name: string): string => `\`${name}\``;

/** For docs/ladder.md: the rungs by chapter, and on how many instances each runs. */
export function chaptersMarkdown(): string {
  const chapters = [...Map.groupBy(ladderRows(), ({ chapter }) => chapter)];
  const rows = chapters.map(([chapter, all]) => {
    const on = (isOne: boolean) => all.filter(({ instances }) => (instances === 1) === isOne);
    const names = (isOne: boolean) => on(isOne).map(({ rung }) => code(rung));
    const { en, zh } = texts;
    const title = `${chapter} ${en.chapters[chapter]} · ${zh.chapters[chapter]}`;
    return [title, names(true).join(', '), names(false).join(', ')];
  });
  return markdownTable([['chapter', 'on one instance', 'on four instances'], ...rows]);
}

/** For docs/ladder.txt and docs/zh/ladder.txt. */
export const ladderFile = (language: Language): string =>
  `${ladderFileHeads[language]}\n\n${ladderText(language)}\n`;

const ladderFileHeads = {
  en: 'Each rung: its name, what it does, and its claim: what it holds, or what breaks it.',
  zh: '每个方案：名字、做法、预期（保证什么，或者在哪种故障场景下违反哪条承诺）。',
} as const satisfies Record<Language, string>;

/** For docs/ladder.md, in both languages. */
export function promisesMarkdown(): string {
  const { en, zh } = texts;
  const names = Object.keys(en.checks) as CheckName[];
  const rows = names.map((name) => [code(name), en.checks[name], zh.checks[name]]);
  return markdownTable([['promise · 承诺', 'it says', '含义'], ...rows]);
}

const rushOf: Partial<Record<Circumstance, string>> = {
  'two-requests-at-once': 'every rush · 每次抢购',
  'several-instances': 'a rush on four instances · 多个进程上的抢购',
};

/** For docs/ladder.md: what plays each circumstance is a rush, or the races that have its name. */
export function circumstancesMarkdown(): string {
  const { en, zh } = texts;
  const names = Object.keys(en.circumstances) as Circumstance[];
  const rows = names.map((name) => {
    const races = raceNames.filter((race) => schedules[race].under === name).map(code);
    const played = [rushOf[name] ?? [], races].flat();
    return [code(name), en.circumstances[name], zh.circumstances[name], played.join(', ')];
  });
  const head = ['circumstance · 故障场景', 'it means', '含义', 'played by · 由谁演示'];
  return markdownTable([head, ...rows]);
}

/** For docs/races.md, in both languages. */
export function raceMarkdown(): string {
  const rows = raceNames.map((race) => {
    const { title, rung, next }: Schedule = schedules[race];
    const fixed = next === undefined ? ['–', '–'] : [code(rung), code(next)];
    return [code(race), title.en, title.zh, ...fixed];
  });
  const [shown, by] = ['on the rung with the bug · 有 bug 的方案', 'fixed by · 在哪里修好'];
  return markdownTable([['race · 竞态', 'what goes wrong', '出了什么问题', shown, by], ...rows]);
}

/** The races of faults that the drills play, and the claim on each rung: docs/races-played.txt. */
export function playedText(): string {
  const faults = raceNames.filter((race) => circumstances[schedules[race].under] === 'fault');
  const races = faults.map((race) => {
    const rungs = allRaces.filter((each) => each.race === race).map(({ rung }) => rung);
    const claiming = (claim: string) =>
      rungs.filter((rung) => claimedOutcome(ladder[rung], race) === claim).join(', ');
    const lines = [
      ['violated', claiming('violated')],
      ['other', claiming('other')],
      ['held', claiming('held')],
    ].filter(([, on]) => on !== '');
    const told = lines.map(([claim = '', on]) => wrap(`  ${claim.padEnd(10)}${on}`, 100, margin));
    return [`${race}: ${schedules[race].shows}`, ...told].join('\n');
  });
  return `${playedHead}\n\n${races.join('\n\n')}\n`;
}

const margin = ' '.repeat(12);
const playedHead = `Each race of a fault, the promise that it is about, and the rungs on which it is played:
  violated  the promise breaks, as the rung claims
  other     another promise breaks, as the rung claims
  held      none breaks`;

function claimedOutcome({ breaks }: Rung, race: RaceName): 'violated' | 'other' | 'held' {
  const { under, shows } = schedules[race];
  const broken = breaks.filter((each) => each.under === under).map(({ check }) => check);
  if (broken.includes(shows)) return 'violated';
  return broken.length > 0 ? 'other' : 'held';
}
