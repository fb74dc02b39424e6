/** How far a group is in the workshop: a file, so that each command goes on where it was. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

const Seen = z.object({
  /** The command, without the program; or the contract. */
  play: z.string(),
  /** As the ladder claims? */
  answer: z.enum(['yes', 'no', 'unknown']),
  verdict: z.string().optional(),
  alsoBroken: z.array(z.string()).readonly().optional(),
  reasons: z.array(z.string()).readonly(),
  /** Of a contract, and of a race: the same in Chinese. Older files do not have it. */
  inChinese: z
    .object({
      play: z.string(),
      verdict: z.string().optional(),
      reasons: z.array(z.string()).readonly(),
    })
    .optional(),
  /** The page that shows it, step by step. */
  replay: z.string().optional(),
});
export type Seen = z.infer<typeof Seen>;

const Progress = z.object({
  /** The place of the step, from 0. */
  step: z.int().min(0),
  /** By the place of the step. */
  predictions: z.record(z.string(), z.string()),
  seen: z.record(z.string(), z.array(Seen).readonly()),
  /** By the name of the exercise. */
  exercises: z.record(z.string(), z.array(Seen).readonly()),
  /** How many hints were shown, by the name of the exercise. */
  hints: z.record(z.string(), z.number()),
});
export type Progress = z.infer<typeof Progress>;

const fileIn = (home: string): string => join(home, '.lockstep', 'workshop', 'progress.json');
const start: Progress = { step: 0, predictions: {}, seen: {}, exercises: {}, hints: {} };

/** A file that is missing or damaged is the start. */
export function readProgress(home: string): Progress {
  try {
    return Progress.parse(JSON.parse(readFileSync(fileIn(home), 'utf8')));
  } catch {
    return start;
  }
}

export function saveProgress(home: string, progress: Progress): void {
  mkdirSync(dirname(fileIn(home)), { recursive: true });
  writeFileSync(fileIn(home), JSON.stringify(progress, null, 2));
}

export const forgetProgress = (home: string): void => rmSync(fileIn(home), { force: true });
