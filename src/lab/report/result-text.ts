/** The result of an experiment: for a terminal of 80 columns, and as Markdown. */
import type { Language } from '../../texts/texts.ts';
import { type Result, textIn } from '../stage/result.ts';
import type { LoadCost } from '../stage/seconds.ts';
import { figuresInChinese } from './figure-names.ts';
import { colons } from './file-words.ts';
import { markdownTable, tableMarkdown, tableText } from './table.ts';
import { costSentences, figureRows, verdictWords } from './verdict-words.ts';
import { wrap } from './wrap.ts';

const reasonsMax = 10;

type ShownResult = Pick<
  Result,
  'verdict' | 'reasons' | 'asClaimed' | 'figures' | 'tables' | 'faults' | 'hints' | 'conclusions'
>;

/** @param loads what each cost its buyers */
export function resultText(
  result: ShownResult,
  language: Language = 'en',
  loads: readonly LoadCost[] = [],
): string {
  const say = verdictWords[language];
  const { verdict, reasons, asClaimed = [], figures, tables = [], faults, hints = [] } = result;
  const { conclusions = [] } = result;
  const rows = figureRows(figures, language, figuresInChinese).map(
    ([name, value]) => `  ${name}${colons[language]}${value}`,
  );
  const injected = Object.entries(faults).map(([name, times]) => `${times} × ${name}`);
  return [
    ...tables.filter(({ isWide }) => !isWide).flatMap((table) => [tableText(table, language), '']),
    ...rows,
    wrap(`  ${say.faults(injected)}`, 79, '    '),
    '',
    ...[...costSentences(loads, language), ...conclusions.map((said) => said[language])].map(
      (text) => wrap(`  ${text}`, 79, '    '),
    ),
    ...asClaimed.map((text) => wrap(`  ${say.claimed(textIn(language, text))}`, 79, '    ')),
    say.verdictIs(verdict) + (verdict === 'held' && asClaimed.length > 0 ? say.claimedOnly : ''),
    ...reasons.slice(0, reasonsMax).map((each) => wrap(`  ${textIn(language, each)}`, 79, '    ')),
    ...(reasons.length > reasonsMax ? [`  ${say.more(reasons.length - reasonsMax)}`] : []),
    ...(hints.length > 0 ? ['', ...hints.map((hint) => textIn(language, hint))] : []),
  ].join('\n');
}

/** The same as Markdown. @param loads what each cost its buyers */
export function resultMarkdown(
  command: string,
  result: Omit<ShownResult, 'faults' | 'hints'>,
  loads: readonly LoadCost[] = [],
  language: Language = 'en',
): string {
  const { verdict, reasons, asClaimed = [], conclusions = [], figures, tables = [] } = result;
  const say = verdictWords[language];
  return [
    ...[...costSentences(loads, language), ...conclusions.map((said) => said[language])].map(
      (text) => `- ${text}`,
    ),
    ...tables.map((table) => tableMarkdown(table, language)),
    markdownTable([say.figureHead, ...figureRows(figures, language, figuresInChinese)]),
    ...[
      ...asClaimed.map((text) => say.claimed(text[language])),
      ...reasons.map((text) => text[language]),
    ].map((text) => `- ${text}`),
    say.measuredBy(command, verdict),
  ].join('\n\n');
}

export const measuredBy = verdictWords.en.measuredBy;
