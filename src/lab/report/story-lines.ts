/** The headline: the four rushes that tell the story of the ladder, each with its meaning. */
import { type StoryName, story, storyNames } from '../../service/ladder/story.ts';
import { type Language, texts } from '../../texts/texts.ts';
import type { Run, RunResult } from '../drills/run-rung.ts';
import { type Table, textIn } from '../stage/result.ts';
import { type Column, cellText, tableOf } from '../stage/table.ts';
import { verdictWord } from './run-tables.ts';
import { failedFindings } from './sentences.ts';
import { lineOf } from './table.ts';
import { verdictWords } from './verdict-words.ts';
import { columns, wrap } from './wrap.ts';

type Shape = Pick<RunResult, 'rung' | 'instances' | 'balancer' | 'retries'>;

/** The line of the story that this run tells, if any. */
export const storyOf = ({ rung, instances, balancer, retries }: Shape): StoryName | undefined =>
  storyNames.find(
    (name) =>
      story[name].rung === rung &&
      story[name].instances === instances &&
      balancer === 'nginx' &&
      retries === 0,
  );

type StoryRow = readonly [name: StoryName, result: RunResult];

const storyColumns: readonly Column<StoryRow>[] = [
  ['', ([name]) => ({ en: texts.en.story[name].title, zh: texts.zh.story[name].title })],
  [{ en: 'sold', zh: '卖出' }, ([, { orders }]) => orders, 5],
  [
    { en: 'users with two orders', zh: '有两单的用户' },
    ([, { usersWithTwoOrders }]) => usersWithTwoOrders,
    22,
  ],
  [{ en: 'verdict', zh: '结果' }, ([, { verdict }]) => verdictWord(verdict)],
];
const layout = { textColumns: 1, endsInText: true } as const;

const tableOfStory = (rows: readonly StoryRow[]): Table => tableOf('', rows, storyColumns, layout);

/** What the README shows first: the rows whose runs are there. */
export const headlineTable = (results: readonly RunResult[]): Table =>
  tableOfStory(
    storyNames.flatMap((name): StoryRow[] => {
      const result = results.find((each) => storyOf(each) === name);
      return result ? [[name, result]] : [];
    }),
  );

/** One line of it, before the others are known. */
function line(cells: Table['head'] | Table['rows'][number], language: Language): string {
  const titles = storyNames.map((name) => columns(texts[language].story[name].title));
  const widths = [Math.max(...titles), ...(tableOfStory([]).widths ?? []).slice(1)];
  return lineOf(
    cells.map((cell) => cellText(language, cell)),
    widths,
    layout,
  );
}

export const storyHead = (language: Language): string => line(tableOfStory([]).head, language);

/** Its line, and below it why: the story's sentence, or what the audit found instead. */
export function storyLine(name: StoryName, run: Run, language: Language): string {
  const [cells = []] = tableOfStory([[name, run.result]]).rows;
  const { meaning } = texts[language].story[name];
  const claim = verdictWords[language].notClaimed(run.claim.verdict);
  const why = run.result.asClaimed
    ? [wrap(`    ${meaning}`, 79, '    ')]
    : [`    ${claim}`, ...failedFindings(run, language)];
  return [line(cells, language), ...why].join('\n');
}

/** What follows the story, and where to see it. */
export function storyEnd(more: number, folder: string, language: Language): string {
  const page = `${folder}/index.html`;
  const follows = {
    en: `These four are the point. The whole ladder follows: ${more} more runs, interleavings and races. Ctrl-C ends it and keeps what was seen: ${page}`,
    zh: `重点就是这四行。接下来是全部方案：还有 ${more} 次抢购、执行顺序和竞态。按 Ctrl-C 结束，已有的结果会保留：${page}`,
  };
  return `\n${wrap(textIn(language, follows), 79, '')}`;
}
