/** An exercise or a hunt, by the name that was begun. */
import { UnknownExercise } from '../errors.ts';
import type { Exercise } from './exercise.ts';
import { exerciseNames, exercises } from './exercises.ts';
import { huntName, hunts } from './hunts.ts';

const all = new Map<string, Exercise>([
  ...Object.entries(exercises),
  ...hunts.map((hunt, index) => [huntName(index + 1), hunt] as const),
]);

/** @throws UnknownExercise */
export function exerciseNamed(name: string): Exercise {
  const exercise = all.get(name);
  if (!exercise) throw new UnknownExercise(name, exerciseNames);
  return exercise;
}
