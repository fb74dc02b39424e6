/**
 * The tables of docs/course.md, in both languages, from one file: docs/data/course.json. A row is
 * in both, so no language lacks one. The steps alone are in the words of the notes: in Chinese.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Language } from '../../texts/texts.ts';
import { markdownTable } from './table.ts';

/** A cell that is the same in both, as a command or a link; or one of each. */
const Cell = z.union([z.string(), z.object({ en: z.string(), zh: z.string() })]);
const Tables = z.record(z.string(), z.array(z.array(Cell)));
const file = new URL('../../../docs/data/course.json', import.meta.url);

/** @returns by name, all that the page of this language has */
export function courseTables(language: Language): Record<string, string> {
  const { steps, ...others } = Tables.parse(JSON.parse(readFileSync(file, 'utf8')));
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
