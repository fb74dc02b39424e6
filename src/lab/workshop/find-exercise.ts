/** An exercise or a hunt, by the name that was begun. */
import { labError } from '../errors.ts';
import type { Exercise } from './exercise.ts';
import { exerciseNames, exercises } from './exercises.ts';
import { huntName, hunts } from './hunts.ts';

const all = new Map<string, Exercise>([
  ...Object.entries(exercises),
  ...hunts.map((hunt, index) => [huntName(index + 1), hunt] as const),
]);

/** @throws UNKNOWN_EXERCISE */
export function exerciseNamed(name: string): Exercise {
  const exercise = all.get(name);
  if (!exercise) throw labError('UNKNOWN_EXERCISE', name, exerciseNames);
  return exercise;
}
