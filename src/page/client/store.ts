/** The state of the page: what the viewer looks at, and what he asks for. */
import { computed, effect, signal } from '@preact/signals';
import type { BreakChoice } from '../../lab/by-hand/break-choice.ts';
import { actOf, lettersMax } from '../../lab/play/letters.ts';
import { connection, send } from './api.ts';
import { world } from './event-log.ts';
import { faultsIn } from './faults.ts';
import { ladderRow, nextRow } from './ladder-rows.ts';
import { buyersIn, isDone, isOver, lettersOf, type PlayView } from './model.ts';
import { outcomeSeen, predictions, rememberSeen, wasRight } from './predictions.ts';

/** Of this tab: the tabs of one browser have one feed, and each shows its own plays. */
const tab = Math.random().toString(36).slice(2, 12);
type Side = 'main' | 'beside';
const slotOf = (side: Side): string => `${tab} ${side}`;
/** A recording has one play, of whatever tab. */
const inSlot = (side: Side) =>
  computed<PlayView | undefined>(() => {
    const { plays, slots } = world.value;
    const recorded = connection.value === 'recorded' && side === 'main' ? [...slots.values()] : [];
    return plays.get(slots.get(slotOf(side)) ?? recorded[0] ?? '');
  });
export const play = inSlot('main');
const playBeside = inSlot('beside');

/** What the address says: the rung, the choices that it asks for, and how. */
export interface PlayAddress {
  readonly rung: string;
  readonly choices: string;
  readonly lanes: number;
  readonly stopsEverywhere: boolean;
}
/** A load, while somebody breaks the servers by hand. */
export interface BreakAddress extends BreakChoice {
  readonly of: 'break';
}

/** An experiment: a race whose steps are fixed, a drill, or a load to be broken by hand. */
export type RunAddress =
  | BreakAddress
  | { readonly of: 'race'; readonly race: string; readonly rung: string }
  | {
      readonly of: 'drill';
      /** Empty for a recording: it says itself what it is. */
      readonly drill: string;
      readonly minutes: number;
      readonly seed: number;
    };
export type View =
  | { readonly is: 'ladder'; readonly chapter: number }
  | { readonly is: 'drills' }
  | { readonly is: 'scoreboard' }
  | { readonly is: 'room' }
  | { readonly is: 'nowhere'; readonly path: string }
  | ({ readonly is: 'run' } & RunAddress)
  | ({ readonly is: 'race' } & PlayAddress);
export const view = signal<View>({ is: 'ladder', chapter: 2 });
/** The rung beside the one that is played; empty without one. */
export const beside = signal('');
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
    sent.value?.play !== of?.id || (of?.choices.length ?? 0) >= (sent.value?.count ?? 0);
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

async function sendChoice({ id, choices }: PlayView, choice: string): Promise<void> {
  sent.value = { play: id, count: choices.length + 1 };
  if ((await send('POST', `/api/plays/${id}/choices`, { choice })) === null) sent.value = null;
}

effect(() => {
  if (isReady.value) queueMicrotask(sendNext);
});

const wantedOf = (of: PlayView): PlayAddress => {
  const wanted = view.value;
  const { lanes = buyersIn(of).length, stopsEverywhere = false } =
    wanted.is === 'race' ? wanted : {};
  return { rung: of.rung, choices: lettersOf(of), lanes, stopsEverywhere };
};

/** Plays the first choices again, on a fresh voucher. */
export function backTo(count: number): void {
  const of = current.value;
  if (!of || !isReady.value || count < 0 || beside.value !== '') return;
  const choices = of.choices.slice(0, count).map(({ choice }) => choice);
  void begin({ ...wantedOf(of), choices: choices.join('') });
}

export function branchTo(choices: string): void {
  const of = current.value;
  if (of && isReady.value) void begin({ ...wantedOf(of), choices });
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
  const wanted = besideWanted();
  if (wanted.rung !== '') void ask('beside', wanted);
}

function besideWanted(): PlayAddress {
  const of = current.value;
  if (!of) return { rung: '', choices: '', lanes: 2, stopsEverywhere: false };
  return { ...wantedOf(of), rung: beside.value };
}

/** The prediction for it. */
export const toPredictBeside = (): { rung: string; lanes: number; isWhole: boolean } => ({
  ...besideWanted(),
  isWhole: current.value !== undefined && isDone(current.value),
});

/** An outcome that was seen is kept, and so are the choices of the branch. */
effect(() => {
  for (const of of [play.value, playBeside.value]) {
    if (!of || !ladderRow(of.rung)) continue;
    if (of.isStill && of.choices.length > 0) rememberTried(of.rung, lettersOf(of));
    if (isOver(of) && of.isFinal) rememberOutcome(of);
  }
});

function rememberOutcome(of: PlayView): void {
  const predicted = predictions.peek().get(of.rung);
  rememberSeen(of.rung, {
    ...{ seen: outcomeSeen(of), isBroken: of.broken.length > 0 },
    ...(predicted && { isRight: wasRight(of, predicted) }),
  });
}

function rememberTried(rung: string, choices: string): void {
  const known = tried.peek().get(rung) ?? new Set();
  if (known.has(choices)) return;
  tried.value = new Map(tried.peek()).set(rung, new Set([...known, choices]));
}
