/** What the viewer asks for: plays, and runs; and those that the view shows. */

import { computed, effect, signal } from '@preact/signals';
import { breakName } from '../../lab/by-hand/break-choice.ts';
import { actOf, lettersMax } from '../../lab/play/letters.ts';
import { connection, send } from './api.ts';
import { famousRace, ladderRow, nextRow, rowOfRace } from './built-rows.ts';
import { liveWorld, world } from './event-log.ts';
import { faultsIn } from './faults.ts';
import {
  buyersIn,
  isOver,
  lettersOf,
  type PlayView,
  type RaceView,
  raceKey,
} from './play-model.ts';
import { predictions, rememberOutcome, rememberVerdict } from './predictions.ts';
import { beside, type PlayAddress, type RunAddress, show, view } from './route.tsx';
import type { RunView } from './run-model.ts';

/** Of this tab: the tabs of one browser have one feed, and each shows its own plays. */
const tab = Math.random().toString(36).slice(2, 12);
type Side = 'main' | 'beside';
const slotOf = (side: Side): string => `${tab} ${side}`;
/** A recording has one play, of whatever tab. */
const inSlot = (side: Side) =>
  computed<PlayView | undefined>(() => {
    const plays = [...world.value.plays.values()];
    const isRecorded = connection.value === 'recorded' && side === 'main';
    return plays.findLast(({ slot }) => isRecorded || slot === slotOf(side));
  });
export const play = inSlot('main');
const playBeside = inSlot('beside');

/** What asked for the play beside: an earlier one is of an earlier comparison. */
const besideRequest = signal('');
export const other = computed(() =>
  playBeside.value?.request === besideRequest.value ? playBeside.value : undefined,
);
/** The choices that were played on a rung, for its tree. */
export const tried = signal<ReadonlyMap<string, ReadonlySet<string>>>(new Map());

/** The play that the view wants: another one is of an earlier view. */
export const current = computed(() => {
  const wanted = view.value;
  const of = play.value;
  if (connection.value === 'recorded') return of;
  const isWanted =
    wanted.is === 'race' &&
    of?.rung === wanted.rung &&
    of.stopsEverywhere === wanted.stopsEverywhere;
  return isWanted && of?.ended !== 'left' ? of : undefined;
});

/** The play of this view was ended elsewhere: nothing begins by itself then. */
export const wasLeft = computed(() => play.value?.ended === 'left');

let requests = 0;

async function ask(side: Side, wanted: PlayAddress): Promise<void> {
  requests += 1;
  const request = `${tab} ${requests}`;
  if (side === 'beside') besideRequest.value = request;
  isBeginning.value ||= side === 'main';
  pending.length = 0;
  await send('POST', '/api/plays', { ...wanted, slot: slotOf(side), request });
  if (side === 'main') isBeginning.value = false;
}

/** Before the page has its session, the view begins by itself later. */
export async function begin(wanted: PlayAddress): Promise<void> {
  if (connection.value === 'open') await ask('main', wanted);
}

/** A play is on its way: what is shown is the one before. */
export const isBeginning = signal(false);
/** The last choice was sent: the play will have so many. */
const sent = signal<{ readonly play: string; readonly count: number } | null>(null);
/** The events of the last choice are here, and nothing moves. */
export const isReady = computed(() => {
  const of = current.value;
  const isAnswered =
    sent.value?.play !== of?.player || (of?.choices.length ?? 0) >= (sent.value?.count ?? 0);
  return of?.isStill === true && !isBeginning.value && isAnswered;
});

/** Pressed while something still moved: they come next, one after the other. */
const pending: string[] = [];

/** What is not offered is no choice; but a buyer that waits may be chosen: it cannot go. */
function isOffered(of: PlayView, choice: string): boolean {
  const { does, to } = actOf(choice);
  if (lettersOf(of).length + choice.length > lettersMax) return false;
  if (does !== 'move') return faultsIn(of).includes(choice);
  const { state = 'dead' } = of.lanes.get(to) ?? {};
  return !['dead', 'answered', 'free', 'stopped'].includes(state);
}

export function choose(choice: string): void {
  pending.push(choice);
  sendNext();
}

function sendNext(): void {
  const of = current.value;
  if (!of || !isReady.value) return;
  const choice = pending.shift();
  if (choice === undefined) return;
  if (isOffered(of, choice)) void sendChoice(of, choice);
  else sendNext();
}

async function sendChoice({ player, choices }: PlayView, choice: string): Promise<void> {
  sent.value = { play: player, count: choices.length + 1 };
  if ((await send('POST', `/api/plays/${player}/choices`, { choice })) === null) sent.value = null;
}

effect(() => {
  if (isReady.value) queueMicrotask(sendNext);
});

/** It again, in a link. */
export const addressOfPlay = (of: PlayView): PlayAddress => ({
  rung: of.rung,
  choices: lettersOf(of),
  lanes: buyersIn(of).length,
  stopsEverywhere: of.stopsEverywhere,
});

/** Shows a race, and begins it when its outcome was predicted. */
export function go(wanted: PlayAddress): void {
  show({ is: 'race', ...wanted });
  if (predictions.value.has(wanted.rung)) void begin(wanted);
}

/** Plays the first choices again, on a fresh voucher. */
export function backTo(count: number): void {
  const of = current.value;
  if (!of || !isReady.value || count < 0 || beside.value !== '') return;
  const choices = of.choices.slice(0, count).map(({ choice }) => choice);
  void begin({ ...addressOfPlay(of), choices: choices.join('') });
}

export function branchTo(choices: string, of = current.value): void {
  if (of && isReady.value) void begin({ ...addressOfPlay(of), choices });
}

/** The same choices on the next rung; they are played once its outcome was predicted. */
export function compareNext(): void {
  const of = current.value;
  const next = of && nextRow(of.rung);
  if (!next || beside.value !== '') return;
  beside.value = next.name;
  if (predictions.value.has(next.name)) playBesideIt();
}

export function playBesideIt(): void {
  const of = current.value;
  if (of && beside.value !== '') void ask('beside', { ...addressOfPlay(of), rung: beside.value });
}

/** What was seen is kept, and so are the choices of the branch. */
effect(() => {
  const { experiment, verdict } = liveWorld.value.run ?? {};
  if (experiment && verdict && connection.value === 'open')
    rememberVerdict(experiment, verdict.verdict);
  for (const of of [play.value, playBeside.value]) {
    if (!of || !ladderRow(of.rung)) continue;
    if (of.isStill && of.choices.length > 0) rememberTried(of.rung, lettersOf(of));
    if (isOver(of) && of.isFinal) rememberOutcome(of);
  }
});

function rememberTried(rung: string, choices: string): void {
  const known = tried.peek().get(rung) ?? new Set();
  if (known.has(choices)) return;
  tried.value = new Map(tried.peek()).set(rung, new Set([...known, choices]));
}

/** The name of its experiment. */
export function runName(wanted: RunAddress): string {
  if (wanted.of === 'race') return `race-${raceKey(wanted)}`;
  return wanted.of === 'drill' ? `drill-${wanted.drill}` : breakName(wanted);
}

/** When the run began that somebody has put away. */
const putAway = signal('');

/** The view asks again what to play. */
export function putRunAway(): void {
  const { run } = liveWorld.value;
  if (run?.over) putAway.value = run.at;
}

/** The run that the view shows; another one is of an earlier view. A recording has one. */
export const shownRun = computed<RunView | undefined>(() => {
  const { run } = world.value;
  const wanted = view.value;
  if (connection.value === 'recorded') return run;
  const isOfView = wanted.is === 'run' && run?.experiment === runName(wanted);
  return isOfView && run.at !== putAway.value ? run : undefined;
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

/** Where the same race does no harm any more. */
export function nextRun(wanted: RunAddress): RunAddress | undefined {
  if (wanted.of !== 'race') return undefined;
  const { race, rung } = wanted;
  const next = famousRace(race)?.next;
  return next && rowOfRace(race)?.name === rung ? { of: 'race', race, rung: next } : undefined;
}
