/** What a benchmark prints fits a terminal, in both languages. */
import { expect, test } from 'vitest';
import { blocksText } from '../../src/lab/report/table.ts';
import { languages } from '../../src/texts/texts.ts';
import { benchReports } from './bench-reports.ts';
import { tooWide } from './terminal.ts';

const english = /\b(of|the|with|and|each|orders|users|at)\b/;

test.each(Object.entries(benchReports))('the report of %s fits 80 columns', (_, blocks) => {
  for (const language of languages) expect(tooWide(blocksText(blocks, language))).toEqual([]);
});

test.each(Object.entries(benchReports))(
  'the report of %s is Chinese for a Chinese',
  (_, blocks) => {
    const text = blocksText(blocks, 'zh');
    const lines = text.split('\n').filter((line) => /\p{Script=Han}/u.test(line));
    expect(lines.filter((line) => english.test(line))).toEqual([]);
  },
);
