/** The pages of docs/workshop/ as chapters, and as lines of a terminal. */
import { marked, type Token, type Tokens } from 'marked';
import { wrap } from '../report/wrap.ts';

/** A `##` heading, what stands below it, and its sections. In Markdown. */
export interface Chapter {
  readonly title: string;
  readonly intro: string;
  readonly sections: ReadonlyMap<string, string>;
}

/** A section begins with a paragraph that begins with its name: `**Why.**`. */
export function chaptersOf(markdown: string, names: readonly string[]): Chapter[] {
  const chapters: { title: string; intro: string; sections: Map<string, string> }[] = [];
  const begin = new RegExp(`^\\*\\*(${names.join('|')})[.。]\\*\\* ?`);
  let section: string | null = null;
  for (const token of marked.lexer(markdown)) {
    const chapter = chapters.at(-1);
    section = begin.exec(token.raw)?.[1] ?? section;
    if (isHeading(token, 2)) {
      chapters.push({ title: token.text, intro: '', sections: new Map() });
      section = null;
    } else if (chapter && section === null) chapter.intro += token.raw;
    else if (chapter && section !== null) {
      const before = chapter.sections.get(section) ?? '';
      chapter.sections.set(section, before + token.raw.replace(begin, ''));
    }
  }
  return chapters;
}

const isHeading = (token: Token, depth: number): token is Tokens.Heading =>
  token.type === 'heading' && (token as Tokens.Heading).depth === depth;

/** Without its marks, in lines of 79 columns. */
export function terminalText(markdown: string): string {
  const blocks = marked.lexer(markdown).map(blockText);
  return blocks.filter((block) => block !== '').join('\n\n');
}

function blockText(token: Token): string {
  if (token.type === 'code') return (token as Tokens.Code).text.replaceAll(/^(?=.)/gm, '    ');
  if (token.type === 'list') return listText(token as Tokens.List);
  if (token.type === 'paragraph') return wrap(plain(token.raw), 79, '');
  return '';
}

const listText = ({ items, ordered }: Tokens.List): string =>
  items
    .map(({ text }, index) => wrap(`${ordered ? `${index + 1}.` : '-'} ${plain(text)}`))
    .join('\n');

/** @returns the words of one paragraph, on one line */
export const plain = (markdown: string): string =>
  markdown
    .trim()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\*\*|`/g, '')
    .replaceAll(/\*([^*\n]+)\*/g, '$1')
    .replaceAll(/([\u2e80-\uffef])\n(?=[\u2e80-\uffef])/g, '$1') // Chinese has no spaces.
    .replaceAll('\n', ' ');
