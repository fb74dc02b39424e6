/** One hint more for an exercise, and its solution after the last one. */
import { exerciseNamed } from '../lab/workshop/find-exercise.ts';
import { isHunt } from '../lab/workshop/hunts.ts';
import { terminalText } from '../lab/workshop/markdown.ts';
import { filesOf } from '../lab/workshop/mine.ts';
import { readProgress, saveProgress } from '../lab/workshop/progress.ts';
import { taskNamed } from '../lab/workshop/tasks.ts';
import { workshopTexts } from '../lab/workshop/texts.ts';
import type { Language } from '../texts/texts.ts';
import type { WorkFolders } from './output.ts';

export function nextHint({ workshopHome }: WorkFolders, name: string, language: Language): string {
  const say = workshopTexts[language];
  const task = taskNamed(name, language);
  const hints = [...task.hints, ...(isHunt(name) ? [filesHint(name, language)] : [])];
  const now = readProgress(workshopHome);
  const shown = now.hints[name] ?? 0;
  const next = hints[shown];
  if (next === undefined) return `${say.lastHint}\n\n${terminalText(task.solution)}`;
  saveProgress(workshopHome, { ...now, hints: { ...now.hints, [name]: shown + 1 } });
  return `${say.hintOf(shown + 1, hints.length)}\n\n${terminalText(next)}`;
}

const filesHint = (name: string, language: Language): string =>
  [
    `${workshopTexts[language].filesHint}\n`,
    ...filesOf(exerciseNamed(name)).map((path) => `    ${path}`),
  ].join('\n');
