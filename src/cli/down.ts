import { Lab } from '../lab/environment/lab.ts';
import { alone, endPlays } from '../lab/environment/session.ts';
import type { Language } from '../texts/texts.ts';
import { labWords } from './lab-words.ts';
import { json, language } from './options.ts';
import { type AddCommand, type JsonOption, print, progress } from './output.ts';

export const addDown: AddCommand = (program, { labFolder }) =>
  program
    .command('down')
    .description('stop the lab')
    .addOption(language())
    .addOption(json())
    .action(async ({ json, language }: JsonOption & { language: Language }) => {
      await endPlays(labFolder);
      const stopped = await alone(labFolder, async () => {
        const lab = Lab.find(labFolder);
        const wasRunning = lab?.servers.some(({ alive }) => alive) ?? false;
        if (lab && wasRunning) await lab.restoreMasters().catch(warn);
        await Lab.stop(labFolder);
        return wasRunning;
      });
      const say = labWords[language];
      print(json, { stopped }, () => (stopped ? say.stopped : say.wasNotUp));
    });

/** The lab is stopped all the same. */
const warn = (error: unknown): void =>
  progress(`Writes that only redis-replica has may be lost with this lab: ${error}`);
