/** Plays every step, and writes what was printed into the files of the workshop. */
import { writeFileSync } from 'node:fs';
import { type Language, languages } from '../../texts/texts.ts';
import { withoutFileLines } from '../report/file-words.ts';
import { unplayedStepsIn, workshopFile } from './steps.ts';
import { type Project, verifyPlay } from './verify.ts';

/** @throws Error names a play that is not as the ladder claims; its language is not written then */
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
      const { play, answer, reasons, printed } = await verifyPlay(project, words);
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
