/** `ladder` and `replay`: what is known without servers. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { json, language } from '../lab/commands/options.ts';
import { commandRow } from '../lab/commands/row.ts';
import { labError } from '../lab/errors.ts';
import type { RaceResult } from '../lab/play/race-verdict.ts';
import { ladderRows, ladderText } from '../lab/report/ladder-tables.ts';
import { raceText } from '../lab/report/race-text.ts';
import { command } from './command.ts';
import { print } from './output.ts';

const ladderRow = commandRow({
  name: 'ladder',
  about: {
    en: 'show every rung: what it does, and what it claims',
    zh: '列出每个方案：做什么，承诺什么',
  },
  arguments: {},
  options: { language, json },
});

export const addLadder = command(ladderRow, (_, { json, language }) =>
  print(json, ladderRows(language), () => ladderText(language)),
);

const replayRow = commandRow({
  name: 'replay',
  about: {
    en: 'show a recorded race again, without servers',
    zh: '不用服务器，把记录下来的竞态再放一遍',
  },
  arguments: {
    file: {
      schema: z.string(),
      en: 'a race’s folder, or its race.json',
      zh: '竞态的文件夹，或其中的 race.json',
    },
  },
  options: { language, json },
});

export const addReplay = command(replayRow, (_, { file, json, language }) => {
  const result = readRace(file);
  print(json, result, () => raceText(result, language));
});

/** Enough to tell a race from another file. */
const Recorded = z.object({
  race: z.string(),
  rung: z.string(),
  verdict: z.enum(['held', 'violated', 'unknown']),
  steps: z.array(z.object({ lane: z.string(), place: z.object({ is: z.string() }) })).min(1),
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
