/** The last lines of a play, in each language: where its files are, and what shows it again. */
import type { Language } from '../../texts/texts.ts';
import { columns } from './wrap.ts';

const labels = {
  en: {
    report: 'report',
    replay: 'replay, without servers',
    repeat: 'repeat it',
    check: 'check it again',
  },
  zh: {
    report: '报告',
    replay: '不用服务器的回放',
    repeat: '重复运行',
    check: '再次审计',
  },
} as const;
/** Between a name and what it names. */
export const colons = { en: ': ', zh: '：' } as const;

/** A path, or a command to copy, is never cut: one that is too long has a line of its own. */
export function fileLine(
  label: keyof (typeof labels)['en'],
  path: string,
  language: Language = 'en',
): string {
  const named = labels[language][label] + colons[language];
  return columns(named + path) < 80 ? named + path : `${named.trimEnd()}\n  ${path}`;
}

export const reportLine = (folder: string, language?: Language): string =>
  fileLine('report', `${folder}/index.html`, language);

const anyOf = (words: readonly string[]): string => `(?:${words.join('|')})`;
const anyColon = `${anyOf(Object.values(colons).map((colon) => colon.trimEnd()))}(?: |\\n {2})?`;
const anyReport = anyOf(Object.values(labels).map(({ report }) => report)) + anyColon;
const anyLabel = anyOf(Object.values(labels).flatMap((each) => Object.values(each))) + anyColon;

/** The folder of the report that a command has printed. */
export const reportFolderIn = (printed: string): string | undefined =>
  new RegExp(`^${anyReport}(.*)/index\\.html$`, 'm').exec(printed)?.[1];

/** Without these lines: they differ from run to run. */
export const withoutFileLines = (printed: string): string =>
  printed.replaceAll(new RegExp(`^${anyLabel}.*\\n?`, 'gm'), '');
