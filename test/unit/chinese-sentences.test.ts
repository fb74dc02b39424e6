/** Every row of a table of sentences: Chinese says what English says, and has no English. */
import { describe, expect, test } from 'vitest';
import { reportWords } from '../../src/lab/report/report-page.ts';
import { wrapLines } from '../../src/lab/report/wrap.ts';
import { operateSentences } from '../../src/service/operate/sentences.ts';
import { evidenceEn } from '../../src/texts/evidence-en.ts';
import { evidenceZh } from '../../src/texts/evidence-zh.ts';
import { operateZh } from '../../src/texts/operate-zh.ts';
import { tooWide } from './terminal.ts';

const tables: readonly [name: string, en: object, zh: object][] = [
  ['of the operators’ commands', operateSentences, operateZh],
  ['of evidence', evidenceEn, evidenceZh],
  ['of a report', reportWords.en, reportWords.zh],
];

/** Stands for a number, an id or a list of them. */
const given = (at: number) => [`<${at}>`];

/** A sentence with such values. A value whose parts it names is missing in both languages. */
function said(sentence: unknown, count: number): string | undefined {
  if (typeof sentence !== 'function') return String(sentence);
  try {
    return String(sentence(...Array.from({ length: count }, (_, at) => given(at))));
  } catch {
    return undefined; // It takes what `given` is not: a list of purchases.
  }
}

/** Every sentence of a table, with its path, in both languages. */
function rowsOf(en: object, zh: object): [path: string, en: string, zh: string][] {
  return Object.entries(en).flatMap(([key, own]): [string, string, string][] => {
    const other: unknown = new Map(Object.entries(zh)).get(key);
    if (typeof own === 'object' && own !== null)
      return rowsOf(own, Object(other)).map(([path, ...both]) => [`${key}.${path}`, ...both]);
    const count = typeof own === 'function' ? own.length : 0;
    const both = [said(own, count), said(other, count)] as const;
    return both[0] === undefined || both[1] === undefined ? [] : [[key, both[0], both[1]]];
  });
}

const valuesIn = (text: string): string[] => [...new Set(text.match(/<\d+>/g))].toSorted();
const isChinese = /\p{Script=Han}/u;
/** Names such as `GET /orders` stay. */
const english = /\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b/;

describe.each(tables)('the sentences %s', (_, en, zh) => {
  const rows = rowsOf(en, zh);

  test('are there, and are many', () => {
    expect(rows.length).toBeGreaterThanOrEqual(20);
  });

  test.each(rows)('%s is Chinese, with the same values', (_, inEnglish, inChinese) => {
    expect(valuesIn(inChinese)).toEqual(valuesIn(inEnglish));
    if (english.test(inEnglish)) expect(inChinese).toMatch(isChinese);
    expect(inChinese).not.toMatch(english);
    for (const text of [inEnglish, inChinese]) expect(tooWide(wrapLines(text))).toEqual([]);
  });
});
