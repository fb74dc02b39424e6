/** The race that the address names: what was predicted, what runs, and what is asked for. */
import { computed, effect, signal } from '@preact/signals';
import type { Verdict } from '../../../domain.ts';
import { connection, send } from './api.ts';
import { world } from './event-log.ts';
import { ladderRows } from './ladder-rows.ts';
import { type RaceView, raceKey } from './race-model.ts';
import type { RunView } from './run-model.ts';
import { view, type WantedRace } from './store.ts';

export type Foretold = Exclude<Verdict, 'unknown'>;
export const foretellings = ['held', 'violated'] as const satisfies readonly Foretold[];

/** Those of this visit, by the race and its rung. */
const foretold = signal<ReadonlyMap<string, Foretold>>(new Map());
export const foretoldOf = (wanted: WantedRace): Foretold | undefined =>
  foretold.value.get(raceKey(wanted));

/** The run that the view shows; another one is of an earlier view. */
export const shownRun = computed<RunView | undefined>(() => {
  const { run } = world.value;
  const wanted = view.value;
  return wanted.is === 'run' && run?.experiment === `race-${raceKey(wanted)}` ? run : undefined;
});

export const shownRace = computed<RaceView | undefined>(() => {
  const wanted = view.value;
  const isKnown = connection.value === 'recorded' || shownRun.value !== undefined;
  return wanted.is === 'run' && isKnown ? world.value.races.get(raceKey(wanted)) : undefined;
});

export const isRunning = computed(() => world.value.run !== undefined && !world.value.run.over);

/** The race that was asked for, until its first event is here. */
const asked = signal('');
export const isAsked = (wanted: WantedRace): boolean => asked.value === raceKey(wanted);
effect(() => {
  if (shownRun.value && !shownRun.value.over) asked.value = '';
});

export async function beginRun(wanted: WantedRace): Promise<void> {
  if (isRunning.value || isAsked(wanted)) return;
  const { race, rung } = wanted;
  asked.value = raceKey(wanted);
  if ((await send('POST', '/api/runs', { race, rung })) === null) asked.value = '';
}

export async function stopRun(): Promise<void> {
  await send('DELETE', '/api/runs');
}

export function foretell(wanted: WantedRace, outcome: Foretold): void {
  foretold.value = new Map(foretold.value).set(raceKey(wanted), outcome);
  void beginRun(wanted);
}

/** `1`, `2` */
export function foretellByKey(key: string, wanted: WantedRace): boolean {
  const outcome = foretellings[Number(key) - 1];
  if (!outcome || foretoldOf(wanted) !== undefined) return false;
  foretell(wanted, outcome);
  return true;
}

export const famousRace = (name: string) =>
  ladderRows.flatMap(({ races }) => races).find((race) => race.name === name);

/** Where the same race does no harm any more. */
export function nextRace({ race, rung }: WantedRace): WantedRace | undefined {
  const own = ladderRows.find(({ races }) => races.some(({ name }) => name === race));
  const { next } = famousRace(race) ?? {};
  return next && own?.name === rung ? { race, rung: next } : undefined;
}
