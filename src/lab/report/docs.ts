/**
 * The generated parts of README.md and docs/, each between two markers: `<!-- name -->` and `<!--
 * /name -->`. Tables come from the ladder and the schedules; measured figures come from the newest
 * run of a command, and only from a run.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { describeApi } from '../../service/http/described-api.ts';
import type { Language } from '../../texts/texts.ts';
import type { RungBenchmark } from '../benchmarks/rung-benchmark.ts';
import { type DrillName, drillNames, drills } from '../drills/drills.ts';
import type { RunResult } from '../drills/run-rung.ts';
import { rungsWithOrders } from '../play/set-up.ts';
import { outageFaults, safetyFaults } from '../scoreboard/columns.ts';
import { type Result, textIn } from '../stage/result.ts';
import { rowTexts } from '../stage/table.ts';
import { apiMarkdown } from './api-markdown.ts';
import { headlineTable } from './demo-lines.ts';
import {
  chaptersMarkdown,
  circumstancesMarkdown,
  ladderFile,
  playedText,
  promisesMarkdown,
  raceMarkdown,
} from './ladder-tables.ts';
import { measuredBy } from './result-text.ts';
import {
  mergedScoreboard,
  outageMark,
  type Scoreboard,
  safetyMark,
  scoreRows,
} from './scoreboard-grid.ts';
import { scoreboardTables } from './scoreboard-text.ts';
import { markdownTable, tableMarkdown, tableText } from './table.ts';

type Parts = Readonly<Record<string, string>>;

const root = fileURLToPath(new URL('../../../', import.meta.url));
const fenced = (text: string): string => `\`\`\`text\n${text.trimEnd()}\n\`\`\``;

/** By page, the runs whose output it shows, and how many paragraphs of each. */
const benchmarks: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'performance.md': { bench: 5, 'bench-rates': 2 },
  'benchmarks.md': {
    'bench-beside': 5,
    'bench-saturate': 2,
    'bench-queues': 2,
    'bench-locks': 1,
    ...{ 'bench-ladder': 0, 'bench-profile': 0, 'bench-buckets': 0 }, // Their files alone.
    'bench-orders': 0,
    'bench-orders-by-script': 0,
    'bench-waiting': 0,
    'bench-flood': 0,
  },
};

/** The drills with tables in docs/drills.md, and the titles of these. */
const measuredDrills: Partial<Record<DrillName, readonly string[]>> = {
  'accepted-is-not-sold': ['What became of the order at each hop', 'As the course notes compare'],
  durability: ['What accepted orders survive'],
};

/** By file. A part without a run to take it from is left out. */
export function generatedParts(runsFolder: string): Record<string, Parts> {
  const demo = newest(runsFolder, 'demo', 'report.json');
  const runs = demo ? (JSON.parse(demo) as { runs: { result: RunResult }[] }).runs : [];
  const results = runs.map(({ result }) => result);
  return {
    [join(root, 'README.md')]: headline(results, 'en'),
    [join(root, 'README.zh-CN.md')]: headline(results, 'zh'),
    [join(root, 'docs', 'api.md')]: { api: apiMarkdown() },
    [join(root, 'docs', 'ladder.md')]: tableParts(),
    [join(root, 'docs', 'races.md')]: {
      races: raceMarkdown(),
      ...ordersPart(runsFolder),
    },
    ...benchmarkParts(runsFolder),
    [join(root, 'docs', 'course.md')]: courseTables('en'),
    [join(root, 'docs', 'zh', 'course.md')]: courseTables('zh'),
    [join(root, 'docs', 'drills.md')]: { drills: drillList(), ...drillParts(runsFolder) },
    [join(root, 'docs', 'library.md')]: conformancePart(runsFolder),
    [join(root, 'docs', 'proof.md')]: mutantPart(runsFolder),
    [join(root, 'docs', 'scoreboard.md')]: scoreboardPart(runsFolder),
  };
}

/** Files that are made whole, without a run. */
export const wholeFiles = (): Record<string, string> => ({
  [join(root, 'docs', 'openapi.json')]: `${JSON.stringify(describeApi(), null, 1)}\n`,
  [join(root, 'docs', 'races-played.txt')]: playedText(),
  [join(root, 'docs', 'ladder.txt')]: ladderFile('en'),
  [join(root, 'docs', 'zh', 'ladder.txt')]: ladderFile('zh'),
});

/** The whole output of the newest run of each benchmark, and of the conformance of locks. */
export function recordedFiles(runsFolder: string): Record<string, string> {
  const names = Object.values(benchmarks).flatMap((shown) => Object.keys(shown));
  const reports = [...names.map((name) => [name, 'report.txt']), ['conformance', 'report.md']];
  const files = reports.map(([name = '', report = '']) => [
    join(root, 'docs', 'benchmarks', `${name}.txt`),
    newest(runsFolder, name, report),
  ]);
  return Object.fromEntries(files.filter(([, text]) => text !== null));
}

const benchmarkParts = (runsFolder: string): Record<string, Parts> =>
  Object.fromEntries(
    Object.entries(benchmarks).map(([page, shown]) => [
      join(root, 'docs', page),
      shownParts(runsFolder, shown),
    ]),
  );

function shownParts(runsFolder: string, shown: Readonly<Record<string, number>>): Parts {
  const parts: Record<string, string> = {};
  for (const [name, paragraphs] of Object.entries(shown)) {
    const text = newest(runsFolder, name, 'report.txt');
    if (text !== null && paragraphs > 0) parts[name] = fenced(firstOf(text, paragraphs));
  }
  return parts;
}

const firstOf = (text: string, paragraphs: number): string =>
  text.split('\n\n').slice(0, paragraphs).join('\n\n');

const headline = (results: readonly RunResult[], language: Language): Parts =>
  results.length > 0 ? { headline: fenced(tableText(headlineTable(results), language)) } : {};

/** The tables of docs/ladder.md. */
export const tableParts = (): Parts => ({
  ladder: chaptersMarkdown(),
  promises: promisesMarkdown(),
  circumstances: circumstancesMarkdown(),
});

/** Its table, its legend and where it was measured; the evidence of each mark is in the file. */
function conformancePart(runsFolder: string): Parts {
  const paragraphs = newest(runsFolder, 'conformance', 'report.md')?.trimEnd().split('\n\n') ?? [];
  const shown = [...paragraphs.slice(0, 2), ...paragraphs.slice(-1)];
  return paragraphs.length > 0 ? { conformance: shown.join('\n\n') } : {};
}

function mutantPart(runsFolder: string): Parts {
  const file = newest(runsFolder, 'mutants', 'result.json');
  const { tables = [] } = file === null ? {} : (JSON.parse(file) as Result);
  const whole = tables.find(({ isWide }) => isWide);
  if (!whole) return {};
  const [head = [], ...rows] = rowTexts('en', [whole.head, ...whole.rows]);
  const named = rows.map(([mutant, ...cells]) => [`\`${mutant}\``, ...cells]);
  const shown = [head, ...named].map((cells) => cells.slice(0, 6)); // No ids.
  return { mutants: markdownTable(shown) };
}

/** The newest run of all rungs, and its table: rung, an order that breaks it, orders, how many. */
function wholeOrders(runsFolder: string) {
  const runs = filesOf(runsFolder, 'all-orders', 'result.json').map(
    (path) => JSON.parse(readFileSync(path, 'utf8')) as Result & { readonly command: string },
  );
  const whole = runs.findLast(({ figures }) => figures['rungs'] === rungsWithOrders.length);
  const [table] = whole?.tables ?? [];
  if (!whole || !table) return null;
  const [head = [], ...rows] = rowTexts('en', [table.head, ...table.rows]);
  return { ...whole, head, rows };
}

/** A row for each rung that breaks; the others in a sentence for each count of interleavings. */
function ordersPart(runsFolder: string): Parts {
  const whole = wholeOrders(runsFolder);
  if (!whole) return {};
  const rows = whole.rows.map(([rung, ...cells]) => [`\`${rung}\``, ...cells]);
  const broken = rows.filter((cells) => cells[3] !== '0');
  const held = Map.groupBy(
    rows.filter((cells) => cells[3] === '0'),
    ([, , interleavings]) => interleavings,
  );
  const sentences = [...held].map(
    ([count, of]) => `- none of ${count} breaks ${of.map(([rung]) => rung).join(', ')}`,
  );
  const parts = [markdownTable([whole.head, ...broken]), sentences.join('\n')];
  return { 'all-orders': [...parts, measuredBy(whole.command, whole.verdict)].join('\n\n') };
}

/** Every drill, with the link to its part of docs/drills.md. */
export function drillList(): string {
  const rows = drillNames.map((name) => {
    const { about, takesMinutes } = drills[name];
    return [`[${name}](#${name})`, about.en, takesMinutes];
  });
  return markdownTable([['drill', 'what happens', 'minutes'], ...rows]);
}

function drillParts(runsFolder: string): Parts {
  const parts: Record<string, string> = {};
  for (const [name, titles] of Object.entries(measuredDrills)) {
    const file = newest(runsFolder, `drill-${name}`, 'result.json');
    if (file === null) continue;
    const drill = JSON.parse(file) as Result & { readonly command: string };
    const tables = (drill.tables ?? []).filter(({ title }) => titles.includes(textIn('en', title)));
    if (tables.length < titles.length) continue; // It was interrupted, or nothing could be told.
    const measured = measuredBy(drill.command, drill.verdict);
    parts[name] = [...tables.map((table) => tableMarkdown(table)), measured].join('\n\n');
  }
  return parts;
}

/** Of all its runs: one may have played some rungs or some faults only. */
function wholeScoreboard(runsFolder: string): Scoreboard | null {
  const files = filesOf(runsFolder, 'scoreboard', 'scoreboard.json');
  return mergedScoreboard(
    files.map((path) => JSON.parse(readFileSync(path, 'utf8')) as Scoreboard),
  );
}

function scoreboardPart(runsFolder: string): Parts {
  const board = wholeScoreboard(runsFolder);
  return board === null ? {} : { scoreboard: scoreboardTables(board) };
}

/** @throws RangeError when the text does not have a part's markers. */
export function replaceParts(text: string, parts: Parts): string {
  let fresh = text;
  for (const [name, part] of Object.entries(parts)) {
    const pattern = new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- /${name} -->)`);
    if (!pattern.test(fresh)) throw new RangeError(`there is no part "${name}" between markers`);
    fresh = fresh.replace(
      pattern,
      (_, before: string, after: string) => `${before}${part}\n${after}`,
    );
  }
  return fresh;
}

/** A file of the newest folder `<time>-<name>`, or null when there is none. */
export function newest(runsFolder: string, name: string, file: string): string | null {
  const path = filesOf(runsFolder, name, file).at(-1);
  return path === undefined ? null : readFileSync(path, 'utf8');
}

/** The paths of a file in the folders `<time>-<name>`, the oldest first. */
function filesOf(runsFolder: string, name: string, file: string): string[] {
  if (!existsSync(runsFolder)) return [];
  return readdirSync(runsFolder)
    .filter((folder) => folder.replace(/^[^Z]*Z-/, '') === name)
    .sort()
    .map((folder) => join(runsFolder, folder, file))
    .filter((path) => existsSync(path));
}

/**
 * The tables of docs/course.md, in both languages, from one file. A row is in both, so no language
 * lacks one. The steps alone are in the words of the notes: in Chinese.
 */
const courseFile = new URL('../../../docs/data/course.json', import.meta.url);
/** A cell that is the same in both, as a command or a link; or one of each. */
const Cell = z.union([z.string(), z.object({ en: z.string(), zh: z.string() })]);
const Tables = z.record(z.string(), z.array(z.array(Cell)));

/** @returns by name, all that the page of this language has */
export function courseTables(language: Language): Record<string, string> {
  const { steps, ...others } = Tables.parse(JSON.parse(readFileSync(courseFile, 'utf8')));
  const tables = language === 'zh' && steps ? { steps, ...others } : others;
  const made = Object.entries(tables).map(([name, rows]) => [
    name,
    markdownTable(rows.map((row) => row.map((cell) => cellIn(language, cell)))),
  ]);
  return Object.fromEntries(made);
}

const cellIn = (language: Language, cell: z.infer<typeof Cell>): string => {
  if (typeof cell !== 'string') return cell[language];
  return language === 'zh' ? spokenInChinese(fromFolderBelow(cell)) : cell;
};

const spokenInChinese = (text: string): string =>
  text.replaceAll(/`(npx lockstep [^`]*)`/g, '`$1 --language zh`');

/** The Chinese pages are in docs/zh/. */
const fromFolderBelow = (text: string): string => text.replaceAll(/\]\((?!https?:|#)/g, '](../');

type Rows = readonly object[];

/**
 * What the page shows of published runs: the files of docs/data/, which its build reads. A file
 * without a run to take it from is left out.
 */
export function publishedRows(runsFolder: string): Record<string, Rows> {
  const [orders, board] = [wholeOrders(runsFolder), wholeScoreboard(runsFolder)];
  const ladder = newest(runsFolder, 'bench-ladder', 'bench.json');
  return {
    ...(orders && { 'orders.json': orders.rows.map(orderRow) }),
    ...(board && { 'scoreboard.json': markRows(board) }),
    ...(ladder !== null && { 'sales.json': salesRows(JSON.parse(ladder) as RungBenchmark) }),
  };
}

/** A row in a line. */
export const rowsText = (rows: Rows): string =>
  `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`;

const orderRow = ([rung, one, orders, broken]: readonly string[]) => ({
  rung,
  one,
  orders: Number(orders),
  broken: Number(broken),
});

const salesRows = ({ rungs }: RungBenchmark): Rows =>
  rungs.map(({ rung, acceptedPerSecond: { median } }) => ({
    rung,
    salesPerSecond: Math.round(median),
  }));

const markRows = ({ cells }: Scoreboard): Rows =>
  scoreRows(cells).map(({ rung, safety, outages }) => ({
    rung,
    safety: Object.fromEntries(safety.map((cell, at) => [safetyFaults[at], safetyMark(cell)])),
    outages: Object.fromEntries(
      outages.map((cell, at) => [outageFaults[at]?.name, outageMark(cell)]),
    ),
  }));
