/** The events so far, and the cursor in them. */
import { computed, signal } from '@preact/signals';
import type { StageEvent } from '../../lab/stage/events.ts';
import type { FeedPlace } from '../server/feed.ts';
import { add, emptyWorld, fold, type World } from './model.ts';

export const events: StageEvent[] = [];
/** How many of the events are shown; null: all. */
export const cursor = signal<number | null>(null);
/** With every event, whatever is shown. */
export const liveWorld = signal<World>(emptyWorld);
/** The world after so many events, kept: a cursor that jumps begins at the nearest one. */
const keptEvery = 500;
const kept: World[] = [];

/** Behind the last event that the page has. */
let place: FeedPlace = { feed: '', last: 0 };
export const feedPlace = (): FeedPlace => place;

export function take(event: StageEvent): void {
  if (event.number <= place.last) return; // It came twice.
  if (events.length % keptEvery === 0) kept.push(liveWorld.value);
  events.push(event);
  place = { ...place, last: event.number };
  liveWorld.value = add(liveWorld.value, event);
}

/** The page begins anew here: what came before is over. */
export function beginAt(next: FeedPlace): void {
  place = next;
  events.length = 0;
  kept.length = 0;
  liveWorld.value = emptyWorld;
}

function worldAt(count: number): World {
  const index = Math.min(Math.floor(count / keptEvery), kept.length - 1);
  return fold(events.slice(Math.max(0, index) * keptEvery, count), kept[index]);
}

export const world = computed<World>(() =>
  cursor.value === null ? liveWorld.value : worldAt(cursor.value),
);
