/** The pages of the workshop that a command writes into runs/. */
import type { Language } from '../../ladder/texts/texts.ts';
import { timeStamp, writeFolder } from '../report/folder.ts';
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
  const found = { steps: stepsIn(language), progress, time: timeStamp(), machine };
  return written(runsFolder, 'workshop-findings', findingsPage(found, language));
}

/** @returns the page's path */
export const writeSlides = (runsFolder: string, language: Language): string =>
  written(runsFolder, 'workshop-slides', slidesPage(language));

const written = (runsFolder: string, name: string, page: string): string =>
  `${writeFolder(runsFolder, name, { 'index.html': page })}/index.html`;
