import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { labError } from '../lab/errors.ts';
import type { RaceResult } from '../lab/races/race-verdict.ts';
import { raceText } from '../lab/report/race-text.ts';
import type { Language } from '../texts/texts.ts';
import { json, language } from './options.ts';
import { type AddCommand, type JsonOption, print } from './output.ts';

export const addReplay: AddCommand = (program) =>
  program
    .command('replay')
    .description('show a recorded race again, without servers')
    .argument('<file>', 'a race’s folder, or its race.json')
    .addOption(language())
    .addOption(json())
    .action((file: string, { json, language }: JsonOption & { language: Language }) => {
      const result = readRace(file);
      print(json, result, () => raceText(result, language));
    });

/** Enough to tell a race from another file. */
const Recorded = z.object({
  race: z.string(),
  rung: z.string(),
  verdict: z.enum(['held', 'violated', 'unknown']),
  steps: z.array(z.object({ lane: z.string(), text: z.string(), at: z.string() })).min(1),
});

function readRace(file: string): RaceResult {
  try {
    const path = statSync(file).isDirectory() ? join(file, 'race.json') : file;
    const recorded: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!Recorded.safeParse(recorded).success)
      throw new Error('its fields are not those of a race');
    return recorded as RaceResult;
  } catch (cause) {
    throw labError('NO_RECORDED_RACE', file).causedBy(cause);
  }
}
