/** Plays every step, and writes what was printed into the pages of the workshop. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type Language, languages } from '../../texts/texts.ts';
import { replaceParts } from '../report/docs.ts';
import { withoutFileLines } from '../report/file-words.ts';
import { stepsIn, workshopFile } from './steps.ts';
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
  const parts: Record<string, string> = {};
  for (const [index, { plays }] of stepsIn(language).entries()) {
    const blocks = [];
    for (const words of plays) {
      const { play, answer, reasons, printed } = await verifyPlay(project, words);
      tell(`${language}, step ${index + 1}: ${play}: ${answer}`);
      if (answer !== 'yes') throw new Error(`${play}: ${answer}: ${reasons.join('; ')}`);
      blocks.push(`\`\`\`text\n$ npx lockstep ${play}\n${withoutFiles(printed)}\n\`\`\``);
    }
    parts[`seen-${index + 1}`] = blocks.join('\n\n');
  }
  const file = workshopFile('steps.md', language);
  writeFileSync(file, replaceParts(readFileSync(file, 'utf8'), parts));
}

const withoutFiles = (printed: string): string =>
  withoutFileLines(printed)
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
