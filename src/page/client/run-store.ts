/** The run that the address names: what was predicted, what runs, and what is asked for. */
import { computed, effect, signal } from '@preact/signals';
import { breakName } from '../../lab/by-hand/break-choice.ts';
import type { Verdict } from '../../service/domain.ts';
import { connection, send } from './api.ts';
import { liveWorld, world } from './event-log.ts';
import { famousRace, ladderRows } from './ladder-rows.ts';
import { type RaceView, raceKey } from './race-model.ts';
import type { RunView } from './run-model.ts';
import { type RunAddress, view } from './store.ts';

export type PredictedVerdict = Exclude<Verdict, 'unknown'>;
export const predictedVerdicts = [
  'held',
  'violated',
] as const satisfies readonly PredictedVerdict[];

/** The name of its experiment. */
export function runName(wanted: RunAddress): string {
  if (wanted.of === 'race') return `race-${raceKey(wanted)}`;
  return wanted.of === 'drill' ? `drill-${wanted.drill}` : breakName(wanted);
}

/** Those of this visit, by the name. */
const predicted = signal<ReadonlyMap<string, PredictedVerdict>>(new Map());
export const predictedVerdictOf = (wanted: RunAddress): PredictedVerdict | undefined =>
  predicted.value.get(runName(wanted));

/** When the run began that somebody has put away. */
const putAway = signal(0);

/** The view asks again what to play. */
export function putRunAway(): void {
  const { run } = liveWorld.value;
  if (run?.over) putAway.value = run.beganAtMs;
}

/** The run that the view shows; another one is of an earlier view. A recording has one. */
export const shownRun = computed<RunView | undefined>(() => {
  const { run } = world.value;
  const wanted = view.value;
  if (connection.value === 'recorded') return run;
  const isOfView = wanted.is === 'run' && run?.experiment === runName(wanted);
  return isOfView && run.beganAtMs !== putAway.value ? run : undefined;
});

export const shownRace = computed<RaceView | undefined>(() => {
  const wanted = view.value;
  const isKnown = connection.value === 'recorded' || shownRun.value !== undefined;
  const isOfRace = wanted.is === 'run' && wanted.of === 'race';
  return isOfRace && isKnown ? world.value.races.get(raceKey(wanted)) : undefined;
});

/** Now, also while an earlier moment is shown. */
export const isRunning = computed(() => {
  const { run } = liveWorld.value;
  return run !== undefined && !run.over;
});

/** The run that was asked for, until its first event is here. */
const asked = signal('');
export const isAsked = (wanted: RunAddress): boolean => asked.value === runName(wanted);
effect(() => {
  if (shownRun.value && !shownRun.value.over) asked.value = '';
});

/** The load was asked to end: the last answers, the last orders and the audit are waited for. */
export const isEnding = signal(false);

export async function beginRun(wanted: RunAddress): Promise<void> {
  if (isRunning.value || isAsked(wanted) || connection.value !== 'open') return;
  asked.value = runName(wanted);
  isEnding.value = false;
  if ((await send('POST', '/api/runs', askedOf(wanted))) === null) asked.value = '';
}

/** The server tells them apart by their fields. */
function askedOf(wanted: RunAddress): object {
  const { of, ...options } = wanted;
  return of === 'break' ? { ...options, broken: wanted.rung } : options;
}

export async function stopRun(): Promise<void> {
  await send('DELETE', '/api/runs');
}

export function predictVerdict(wanted: RunAddress, outcome: PredictedVerdict): void {
  predicted.value = new Map(predicted.value).set(runName(wanted), outcome);
  void beginRun(wanted);
}

/** `1`, `2` */
export function predictVerdictByKey(key: string, wanted: RunAddress): boolean {
  const outcome = predictedVerdicts[Number(key) - 1];
  if (!outcome || predictedVerdictOf(wanted) !== undefined || connection.value !== 'open')
    return false;
  predictVerdict(wanted, outcome);
  return true;
}

/** Where the same race does no harm any more. */
export function nextRun(wanted: RunAddress): RunAddress | undefined {
  if (wanted.of !== 'race') return undefined;
  const { race, rung } = wanted;
  const own = ladderRows.find(({ races }) => races.some(({ name }) => name === race));
  const next = famousRace(race)?.next;
  return next && own?.name === rung ? { of: 'race', race, rung: next } : undefined;
}
