/**
 * The steps of the workshop, as docs/workshop/steps.md has them in each language, and what their
 * commands printed, in seen.txt; and its exercises and hunts, as exercises.md has them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Language } from '../../texts/texts.ts';
import { projectFolder } from '../mutants/change.ts';
import { type Chapter, chaptersOf, plain } from './markdown.ts';

export interface Choice {
  readonly letter: string;
  readonly text: string;
}

/** A file of the project, and a text in it at which to look. */
interface CodePlace {
  readonly file: string;
  readonly text: string;
}

export interface Step {
  readonly title: string;
  readonly question: string;
  readonly choices: readonly Choice[];
  readonly todo: string;
  /** What `todo` plays: the words of each command, without the program. */
  readonly plays: readonly (readonly string[])[];
  /** What each of them printed, below its command. */
  readonly seen: readonly string[];
  /** Begins with the letter of the choice that is right. */
  readonly why: string;
  readonly right: string;
  readonly code: string;
  readonly places: readonly CodePlace[];
  readonly exercise: string;
  /** For the speaker. */
  readonly say: string;
}

const headings = {
  en: {
    choices: 'Predict',
    todo: 'Do',
    why: 'Why',
    code: 'The code',
    exercise: 'Exercise',
    say: 'Say',
    hints: 'Hints',
    solution: 'Solution',
  },
  zh: {
    choices: '预测',
    todo: '操作',
    why: '原因',
    code: '代码',
    exercise: '练习',
    say: '讲解',
    hints: '提示',
    solution: '答案',
  },
} as const satisfies Record<Language, Record<string, string>>;

/** A page of the workshop. @param name `steps.md` */
export const workshopFile = (name: string, language: Language): string =>
  join(projectFolder, 'docs', ...(language === 'zh' ? ['zh'] : []), 'workshop', name);

/** Before their commands are played. */
export const unplayedStepsIn = (language: Language): Omit<Step, 'seen'>[] =>
  chaptersOf(
    readFileSync(workshopFile('steps.md', language), 'utf8'),
    Object.values(headings[language]),
  ).map((chapter) => stepOf(chapter, language));

export function stepsIn(language: Language): Step[] {
  const recorded = readFileSync(workshopFile('seen.txt', language), 'utf8');
  const seen = recorded.split(/^(?=\$ npx lockstep )/m);
  return unplayedStepsIn(language).map((step) => ({
    ...step,
    seen: step.plays.map((words) => seenOf(words.join(' '), seen)),
  }));
}

/** @throws RangeError when it was not recorded: `npx lockstep workshop record` does */
function seenOf(play: string, all: readonly string[]): string {
  const seen = all.find((each) => each.startsWith(`$ npx lockstep ${play}\n`));
  if (seen === undefined) throw new RangeError(`seen.txt has no "npx lockstep ${play}"`);
  return seen.trimEnd();
}

function stepOf({ title, intro, sections }: Chapter, language: Language): Omit<Step, 'seen'> {
  const part = (name: keyof (typeof headings)['en']): string => {
    // Four spaces before its first line are those of a command.
    const text = sections.get(headings[language][name])?.replace(/^\n+/, '').trimEnd();
    if (text) return text;
    throw new Error(`steps.md (${language}): "${title}" has no ${headings[language][name]}`);
  };
  const [todo, why, code] = [part('todo'), part('why'), part('code')];
  return {
    title: title.replace(/^\d+\. /, ''),
    question: intro.trim(),
    todo,
    why,
    code,
    choices: [...part('choices').matchAll(/^- \*\*([A-Z])\*\* ((?:.|\n(?!- ))*)/gm)].map(
      ([, letter = '', text = '']) => ({ letter, text: plain(text) }),
    ),
    plays: [...todo.matchAll(/^ {4}npx lockstep (.*)$/gm)].map(([, words = '']) =>
      words.split(' '),
    ),
    right: /^\*\*([A-Z])/.exec(why)?.[1] ?? '',
    places: [...code.matchAll(/^- `([^`]+)`[:：] ?`([^`]+)`$/gm)].map(
      ([, file = '', text = '']) => ({ file, text }),
    ),
    exercise: part('exercise'),
    say: part('say'),
  };
}

export interface Task {
  readonly title: string;
  /** Markdown. */
  readonly text: string;
  readonly hints: readonly string[];
  readonly solution: string;
}

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
        title: rest,
        text: intro.trim(),
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
