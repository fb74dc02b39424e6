/** The state of the page: the events so far, the cursor in them, and what the viewer looks at. */
import { computed, effect, signal } from '@preact/signals';
import type { StageEvent } from '../../stage/events.ts';
import { send } from './api.ts';
import { ladderRow, nextRow } from './ladder-rows.ts';
import { add, emptyWorld, fold, isOver, lettersOf, type PlayView, type World } from './model.ts';
import { outcomeSeen, predictions, rememberSeen } from './predictions.ts';

export const events: StageEvent[] = [];
/** How many of the events are shown; null: all. */
export const cursor = signal<number | null>(null);
const live = signal<World>(emptyWorld);
/** The world after so many events, kept: a cursor that jumps begins at the nearest one. */
const keptEvery = 500;
const kept: World[] = [];

export function take(event: StageEvent): void {
  if (event.number <= lastNumber()) return; // It came twice.
  if (events.length % keptEvery === 0) kept.push(live.value);
  events.push(event);
  live.value = add(live.value, event);
}

export const lastNumber = (): number => events.at(-1)?.number ?? 0;

/** The server has forgotten what came before: the page begins again. */
export function forget(): void {
  events.length = 0;
  kept.length = 0;
  live.value = emptyWorld;
}

function worldAt(count: number): World {
  const index = Math.min(Math.floor(count / keptEvery), kept.length - 1);
  return fold(events.slice(Math.max(0, index) * keptEvery, count), kept[index]);
}

export const world = computed<World>(() =>
  cursor.value === null ? live.value : worldAt(cursor.value),
);
const inSlot = (slot: 'main' | 'beside') =>
  computed<PlayView | undefined>(() => world.value.plays.get(world.value.slots.get(slot) ?? ''));
export const play = inSlot('main');
const playBeside = inSlot('beside');

/** What the address says: the rung, the choices that it asks for, and how. */
export interface Wanted {
  readonly rung: string;
  readonly choices: string;
  readonly lanes: number;
  readonly isFine: boolean;
}
export type View =
  | { readonly is: 'ladder'; readonly chapter: number }
  | ({ readonly is: 'race' } & Wanted);
export const view = signal<View>({ is: 'ladder', chapter: 2 });
/** The rung beside the one that is played; empty without one. */
export const beside = signal('');
export const other = computed(() =>
  playBeside.value?.rung === beside.value ? playBeside.value : undefined,
);
/** The choices that were played on a rung, for its tree. */
export const tried = signal<ReadonlyMap<string, ReadonlySet<string>>>(new Map());

/** The play that the view wants: another one is of an earlier view. */
export const current = computed(() => {
  const wanted = view.value;
  return wanted.is === 'race' && play.value?.rung === wanted.rung ? play.value : undefined;
});

export async function begin({ rung, choices, lanes, isFine }: Wanted): Promise<void> {
  await send('POST', '/api/plays', { rung, choices, lanes, isFine, slot: 'main' });
}

export function choose(choice: string): void {
  const of = current.value;
  if (of?.isStill) void send('POST', `/api/plays/${of.id}/choices`, { choice });
}

const wantedOf = (of: PlayView): Wanted => {
  const wanted = view.value;
  const { lanes = of.lanes.size, isFine = false } = wanted.is === 'race' ? wanted : {};
  return { rung: of.rung, choices: lettersOf(of), lanes, isFine };
};

/** Plays the first choices again, on a fresh voucher. */
export function backTo(count: number): void {
  const of = current.value;
  if (!of?.isStill || count < 0) return;
  const choices = of.choices.slice(0, count).map(({ choice }) => choice);
  void begin({ ...wantedOf(of), choices: choices.join('') });
}

export function branchTo(choices: string): void {
  const of = current.value;
  if (of?.isStill) void begin({ ...wantedOf(of), choices });
}

/** The same choices on the next rung; they are played once its outcome was predicted. */
export function compareNext(): void {
  const of = current.value;
  const next = of && nextRow(of.rung);
  if (!next) return;
  beside.value = next.name;
  if (predictions.value.has(next.name)) playBesideIt();
}

export function playBesideIt(): void {
  const of = current.value;
  if (!of || beside.value === '') return;
  const { choices, lanes, isFine } = wantedOf(of);
  void send('POST', '/api/plays', { rung: beside.value, choices, lanes, isFine, slot: 'beside' });
}

/** An outcome that was seen is kept, and so are the choices of the branch. */
effect(() => {
  for (const of of [play.value, playBeside.value]) {
    if (!of || !ladderRow(of.rung)) continue;
    if (of.isStill && of.choices.length > 0) rememberTried(of.rung, lettersOf(of));
    if (isOver(of) && of.isFinal) rememberSeen(of.rung, outcomeSeen(of));
  }
});

function rememberTried(rung: string, choices: string): void {
  const known = tried.peek().get(rung) ?? new Set();
  if (known.has(choices)) return;
  tried.value = new Map(tried.peek()).set(rung, new Set([...known, choices]));
}
