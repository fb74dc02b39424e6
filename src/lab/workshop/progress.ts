/** How far a group is in the workshop: a file, so that each command goes on where it was. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { projectFolder } from './mine.ts';

const SeenPlay = z.object({
  play: z.string(),
  answer: z.enum(['yes', 'no', 'unknown']),
  verdict: z.string().optional(),
  reasons: z.array(z.string()).readonly(),
  replay: z.string().optional(),
});

const Progress = z.object({
  /** The place of the step, from 0. */
  step: z.int().min(0),
  /** By the place of the step. */
  predictions: z.record(z.string(), z.string()),
  seen: z.record(z.string(), z.array(SeenPlay).readonly()),
  /** By the name of the exercise. */
  exercises: z.record(z.string(), z.array(SeenPlay).readonly()),
  /** How many hints were shown, by the name of the exercise. */
  hints: z.record(z.string(), z.number()),
});
export type Progress = z.infer<typeof Progress>;

export const progressFile = join(projectFolder, '.lockstep', 'workshop', 'progress.json');
const start: Progress = { step: 0, predictions: {}, seen: {}, exercises: {}, hints: {} };

/** A file that is missing or damaged is the start. */
export function readProgress(): Progress {
  try {
    return Progress.parse(JSON.parse(readFileSync(progressFile, 'utf8')));
  } catch {
    return start;
  }
}

export function saveProgress(progress: Progress): void {
  mkdirSync(dirname(progressFile), { recursive: true });
  writeFileSync(progressFile, JSON.stringify(progress, null, 2));
}

export const forgetProgress = (): void => rmSync(progressFile, { force: true });
