/** The moments of a run to which one jumps: a fault, its end, a step of a race, a violation. */
import { msOf } from './lane-rows.ts';
import type { RaceView } from './race-model.ts';
import { type RunView, seenVerdict } from './run-model.ts';

export interface Moment {
  readonly kind: 'fault' | 'healed' | 'step' | 'wrong';
  readonly number: number;
  readonly atMs: number;
}

/** @param races those that the run has played */
export function momentsOf({ told, verdict }: RunView, races: readonly RaceView[]): Moment[] {
  const faults = told.flatMap((event): Moment[] =>
    event.kind === 'fault' || event.kind === 'healed'
      ? [{ kind: event.kind, number: event.number, atMs: msOf(event) }]
      : [],
  );
  const steps = races.flatMap((race) =>
    race.steps.map((event, index): Moment => {
      const kind = race.rows[index]?.isWrong ? 'wrong' : 'step';
      return { kind, number: event.number, atMs: msOf(event) };
    }),
  );
  const judged: Moment[] =
    verdict && seenVerdict(verdict) === 'violated'
      ? [{ kind: 'wrong', number: verdict.number, atMs: msOf(verdict) }]
      : [];
  return [...faults, ...steps, ...judged].sort((one, other) => one.atMs - other.atMs);
}
