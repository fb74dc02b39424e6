/** The pages of the workshop that a command writes into runs/. */
import type { Language } from '../../texts/texts.ts';
import { writeFolder } from '../report/folder.ts';
import { describeMachine } from '../report/machine.ts';
import { findingsPage } from './findings.ts';
import type { Progress } from './progress.ts';
import { slidesPage } from './slides.ts';
import { stepsIn } from './steps.ts';

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
