/** The headline: the four rushes that tell the story of the ladder, each with its meaning. */
import { type StoryName, story, storyNames } from '../../service/ladder/story.ts';
import { type Language, texts } from '../../texts/texts.ts';
import type { Run, RunResult } from '../drills/run-rung.ts';
import { failedFindings } from './sentences.ts';
import { atRight, padded, verdictWords } from './verdict-words.ts';
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

const row = (
  width: number,
  [title = '', sold = '', twice = '', verdict = '']: readonly string[],
): string =>
  [padded(title, width), atRight(sold, 4), atRight(twice, 21), verdict].join('  ').trimEnd();

const titleWidth = (language: Language): number =>
  Math.max(...storyNames.map((name) => columns(texts[language].story[name].title)));

export const storyHead = (language: Language): string =>
  row(titleWidth(language), verdictWords[language].headline);

function resultCells(name: StoryName, result: RunResult, language: Language): string[] {
  const { orders, usersWithTwoOrders, verdict } = result;
  const { title } = texts[language].story[name];
  const word = verdictWords[language].verdicts[verdict];
  return [title, String(orders), String(usersWithTwoOrders), word];
}

const resultRow = (name: StoryName, result: RunResult, language: Language): string =>
  row(titleWidth(language), resultCells(name, result, language));

/** Its line, and below it why: the story's sentence, or what the audit found instead. */
export function storyLine(name: StoryName, run: Run, language: Language): string {
  const { meaning } = texts[language].story[name];
  const why = run.result.asClaimed
    ? [wrap(`    ${meaning}`, 79, '    ')]
    : [`    ✗ the ladder claims ${run.claim.verdict}`, ...failedFindings(run)];
  return [resultRow(name, run.result, language), ...why].join('\n');
}

/** The head, and the rows whose runs are there. */
export function headlineCells(results: readonly RunResult[], language: Language): string[][] {
  const rows = storyNames.flatMap((name) => {
    const result = results.find((each) => storyOf(each) === name);
    return result ? [resultCells(name, result, language)] : [];
  });
  return [[...verdictWords[language].headline], ...rows];
}

/** What the README shows first. */
export const headlineTable = (results: readonly RunResult[], language: Language = 'en'): string =>
  headlineCells(results, language)
    .map((cells) => row(titleWidth(language), cells))
    .join('\n');

/** What follows the story, and where to see it. */
export function storyEnd(more: number, folder: string): string {
  const follows = `These four are the point. The whole ladder follows: ${more} more runs, interleavings and races.`;
  const report = `Ctrl-C ends it and keeps what was seen: ${folder}/index.html`;
  return `\n${wrap(`${follows} ${report}`, 79, '')}`;
}
