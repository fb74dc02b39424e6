/** The texts of the exercises and the hunts, as exercises.md has them in each language. */
import { readFileSync } from 'node:fs';
import type { Language } from '../../texts/texts.ts';
import { chaptersOf, plain } from './markdown.ts';
import { workshopFile } from './steps.ts';

export interface Task {
  readonly title: string;
  /** Markdown. */
  readonly text: string;
  readonly hints: readonly string[];
  readonly solution: string;
}

const headings = {
  en: { hints: 'Hints', solution: 'Solution' },
  zh: { hints: '提示', solution: '答案' },
} as const;

/** By the name of the exercise: `fence-it`, `bug 3`. */
export function tasksIn(language: Language): ReadonlyMap<string, Task> {
  const { hints, solution } = headings[language];
  const page = readFileSync(workshopFile('exercises.md', language), 'utf8');
  const chapters = chaptersOf(page, [hints, solution]);
  return new Map(
    chapters.flatMap(({ title, intro, sections }) => {
      const [, name, rest] = /^([\w -]+)[:：] ?(.*)$/.exec(title) ?? [];
      if (name === undefined || rest === undefined) return [];
      const task = {
        ...{ title: rest, text: intro.trim() },
        hints: hintsIn(sections.get(hints) ?? ''),
        solution: sections.get(solution)?.trim() ?? '',
      };
      return [[name, task] as const];
    }),
  );
}

/** @throws RangeError when the page of the workshop has no such task */
export function taskNamed(name: string, language: Language): Task {
  const task = tasksIn(language).get(name);
  if (!task) throw new RangeError(`exercises.md (${language}) has no task "${name}"`);
  return task;
}

const hintsIn = (list: string): string[] =>
  [...list.matchAll(/^\d+\. ((?:.|\n(?!\d+\. ))*)/gm)].map(([, hint = '']) => plain(hint));
