/** The pages of the workshop that a command writes into runs/. */

import { writeFileSync } from 'node:fs';
import { html, raw } from 'hono/html';
import { type Language, languages } from '../../texts/texts.ts';
import { colours } from '../report/colours.ts';
import { withoutFileLines } from '../report/file-words.ts';
import { writeFolder } from '../report/folder.ts';
import { describeMachine, type Machine } from '../report/machine.ts';
import type { Progress, Seen } from './progress.ts';
import { slidesPage } from './slides.ts';
import { marks, seenWords } from './step-text.ts';
import { type Step, stepsIn, unplayedStepsIn, workshopFile } from './steps.ts';
import { workshopTexts } from './texts.ts';
import { type Project, verifyPlay } from './verify.ts';

/** @returns the page's path */
export async function writeFindings(
  runsFolder: string,
  progress: Progress,
  language: Language,
): Promise<string> {
  const machine = await describeMachine('mariadb');
  const found = { steps: stepsIn(language), progress, time: timeIn(language), machine };
  return written(runsFolder, 'workshop-findings', findingsPage(found, language));
}

/** @returns the page's path */
export const writeSlides = (runsFolder: string, language: Language): string =>
  written(runsFolder, 'workshop-slides', slidesPage(language));

/** As people write it, in the time of this machine. */
const timeIn = (language: Language): string =>
  new Date().toLocaleString({ en: 'en-GB', zh: 'zh-CN' }[language], {
    dateStyle: 'long',
    timeStyle: 'short',
  });

const written = (runsFolder: string, name: string, page: string): string =>
  `${writeFolder(runsFolder, name, { 'index.html': page })}/index.html`;

/**
 * Plays every step, and writes what was printed into the files of the workshop.
 * @throws Error names a play that is not as the ladder claims; its language is not
 *   written then
 */
export async function recordSteps(project: Project, tell: (line: string) => void): Promise<void> {
  for (const language of languages) await recordIn(language, project, tell);
}

async function recordIn(
  language: Language,
  project: Project,
  tell: (line: string) => void,
): Promise<void> {
  const seen: string[] = [];
  for (const [index, { plays }] of unplayedStepsIn(language).entries()) {
    for (const words of plays) {
      const { seen: shown, printed } = await verifyPlay(project, words);
      const { play, answer, reasons } = shown;
      tell(`${language}, step ${index + 1}: ${play}: ${answer}`);
      if (answer !== 'yes') throw new Error(`${play}: ${answer}: ${reasons.join('; ')}`);
      seen.push(`$ npx lockstep ${play}\n${withoutFiles(printed)}\n`);
    }
  }
  writeFileSync(workshopFile('seen.txt', language), seen.join('\n\n'));
}

const withoutFiles = (printed: string): string =>
  withoutFileLines(printed)
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();

export interface WorkshopState {
  readonly steps: readonly Step[];
  readonly progress: Progress;
  readonly time: string;
  readonly machine: Machine;
}

/** What a group predicted and saw, as one page that can be printed. */
export function findingsPage(
  { steps, progress, time, machine }: WorkshopState,
  language: Language,
): string {
  const say = workshopTexts[language];
  const predicted = Object.entries(progress.predictions);
  const right = predicted.filter(([step, letter]) => steps[Number(step)]?.right === letter).length;
  const exercises = Object.entries(progress.exercises);
  const left = steps.flatMap((_, index) => (isDone(index, progress) ? [] : [index + 1]));
  const page = html`<!doctype html>
<html lang="${language === 'zh' ? 'zh-CN' : 'en'}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${say.findings}</title>
<style>${raw(colours + style)}</style>
<h1>${say.findings} <small>${time}</small></h1>
<p>${say.score(right, predicted.length)}</p>
<table>
<tr><th></th><th>${say.question}</th><th>${say.prediction}</th><th>${say.verdict}</th></tr>
${steps.map((step, index) => isDone(index, progress) && row(step, index, progress, language))}
</table>
${left.length > 0 ? html`<p class="quiet">${say.leftOut(left)}</p>` : ''}
${exercises.length > 0 ? html`<h2>${say.exercises}</h2>` : ''}
<ul>${exercises.map(([name, seen]) => exerciseLine(name, seen, language))}</ul>
<h2>${say.machine}</h2>
<ul>${Object.entries(machine).map(([name, value]) => html`<li>${name}: ${value}</li>`)}</ul>
</html>
`;
  return String(page);
}

const isDone = (step: number, { predictions, seen }: Progress): boolean =>
  predictions[step] !== undefined || seen[step] !== undefined;

function exerciseLine(name: string, seen: readonly Seen[], language: Language) {
  const say = workshopTexts[language];
  return html`<li>${name}: ${isMended(seen) ? say.mended : say.notMended}</li>`;
}

const isMended = (seen: readonly Seen[]): boolean =>
  seen.length > 0 && seen.every(({ answer }) => answer === 'yes');

function row({ title, right }: Step, index: number, progress: Progress, language: Language) {
  const say = workshopTexts[language];
  const letter = progress.predictions[index];
  const fate = letter === right ? '✓' : `✗ (${right} ✓)`;
  const mark = letter === undefined ? say.nothing : `${letter} ${fate}`;
  const seen = progress.seen[index] ?? [];
  const lines = seen.map((each) => html`<p>${foundLine(each, language)}</p>`);
  const shown = seen.length === 0 ? say.nothing : lines;
  return html`<tr><td>${index + 1}</td><td>${title}</td><td>${mark}</td><td>${shown}</td></tr>`;
}

function foundLine(seen: Seen, language: Language) {
  const words = seenWords(seen, workshopTexts[language].asClaimed, language);
  return html`${marks[seen.answer]} <code>${seen.play}</code>: ${words}`;
}

const style = `
body { margin: 2rem; font: 1rem/1.4 system-ui, sans-serif; }
small, .quiet { color: var(--quiet); font-size: 0.6em; }
table { border-collapse: collapse; }
td, th {
  text-align: left; vertical-align: top;
  padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid var(--line);
}
td p { margin: 0 0 0.2rem; }
tr { break-inside: avoid; }
code { font-size: 0.85em; }
`;
