/**
 * The events as they come, the cursor in them, and the page as a pure function of them. Live,
 * replay, step back and an exported file are this fold with another cursor.
 */

import { computed, signal } from '@preact/signals';
import { replayFile } from '../../lab/report/replay-file.ts';
import type { StageEvent } from '../../lab/stage/events.ts';
import type { FeedPlace } from '../server/feed.ts';
import type { RoomNow } from '../server/room.ts';
import { againAfterMs, connection, enter, room } from './api.ts';
import {
  addToPlay,
  addToRace,
  lettersOf,
  msOf,
  type PlayView,
  playViewOf,
  type RaceView,
  raceKey,
  raceViewOf,
} from './play-model.ts';
import { addToRun, type RunView } from './run-model.ts';

export interface World {
  /** In the order in which they began: the last one of a view is shown there. */
  readonly plays: ReadonlyMap<string, PlayView>;
  /** The one that began last is the last of them. */
  readonly races: ReadonlyMap<string, RaceView>;
  /** The experiment that began last. */
  readonly run: RunView | undefined;
}

export const emptyWorld: World = {
  plays: new Map(),
  races: new Map(),
  run: undefined,
};

export function add(world: World, event: StageEvent): World {
  if (event.kind === 'play')
    return { ...world, plays: new Map(world.plays).set(event.player, playViewOf(event)) };
  if (!('player' in event))
    return { ...world, races: inRaces(world.races, event), run: addToRun(world.run, event) };
  const play = world.plays.get(event.player);
  if (!play) return world;
  return { ...world, plays: new Map(world.plays).set(event.player, addToPlay(play, event)) };
}

/** A race that is played again begins anew. */
function inRaces(races: World['races'], event: StageEvent): World['races'] {
  if (event.kind === 'race') {
    const others = [...races].filter(([key]) => key !== raceKey(event));
    return new Map([...others, [raceKey(event), raceViewOf(event)]]);
  }
  const last = [...races.values()].at(-1);
  const added = last && addToRace(last, event);
  return added && added !== last ? new Map(races).set(raceKey(added), added) : races;
}

export const fold = (events: readonly StageEvent[], from: World = emptyWorld): World =>
  events.reduce(add, from);

export const events: StageEvent[] = [];
/** How many of the events are shown; null: all. */
export const cursor = signal<number | null>(null);
/** With every event, whatever is shown. */
export const liveWorld = signal<World>(emptyWorld);
/** The world after so many events is kept: a cursor that jumps begins at the nearest one. */
const keptEvery = 500;
const keptWorlds: World[] = [];

/** Behind the last event that the page has. */
let place: FeedPlace = { feed: '', last: 0 };

export function take(event: StageEvent): void {
  if (event.number <= place.last) return; // It came twice.
  if (events.length % keptEvery === 0) keptWorlds.push(liveWorld.value);
  events.push(event);
  place = { ...place, last: event.number };
  liveWorld.value = add(liveWorld.value, event);
}

/** The page begins anew here: what came before is over. */
function beginAt(next: FeedPlace): void {
  place = next;
  events.length = 0;
  keptWorlds.length = 0;
  liveWorld.value = emptyWorld;
}

function worldAt(count: number): World {
  const index = Math.min(Math.floor(count / keptEvery), keptWorlds.length - 1);
  return fold(events.slice(Math.max(0, index) * keptEvery, count), keptWorlds[index]);
}

export const world = computed<World>(() =>
  cursor.value === null ? liveWorld.value : worldAt(cursor.value),
);

/** One clock: that of the events, as far as this browser can tell it. */
let offsetMs = Number.POSITIVE_INFINITY;

/** Milliseconds of the clock of the events; it ticks twice a second. */
export const clockMs = signal(0);

/** The event that arrived fastest tells the difference between the two clocks best. */
function hearTime(event: StageEvent): void {
  offsetMs = Math.min(offsetMs, performance.now() - msOf(event));
  tick();
}

function tick(): void {
  clockMs.value = performance.now() - offsetMs;
}

/** Takes what happens, as long as the page is open. */
export async function followEvents(): Promise<void> {
  const first = await enter();
  if (first === null) return;
  beginAt(first);
  listen();
  setInterval(tick, 500);
}

/** A tab that nobody sees gives its connection back: a browser has six for a server. */
function listen(): void {
  let source: EventSource | undefined;
  const open = () => {
    source?.close();
    source = new EventSource(`/api/events?feed=${place.feed}&after=${place.last}`);
    source.onmessage = ({ data }) => {
      const event = JSON.parse(data as string) as StageEvent;
      hearTime(event);
      take(event);
    };
    source.addEventListener('room', ({ data }) => {
      room.value = JSON.parse(data as string) as RoomNow | null;
    });
    // The server has not kept what is behind the last event here.
    source.addEventListener('gone', ({ data }) => beginAt(JSON.parse(data as string) as FeedPlace));
    source.onopen = () => {
      connection.value = 'open';
    };
    source.onerror = () => {
      connection.value = 'lost';
      source?.close();
      if (!document.hidden) setTimeout(again, againAfterMs);
    };
  };
  /** Its session may be over: a room that was closed, and opened again. */
  const again = async () => {
    if ((await enter()) !== null) open();
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) source?.close();
    else open();
  });
  open();
}

/** One file that replays a play without a server: the page itself, and the events. */
export const saveReplay = (of: PlayView): Promise<void> =>
  save(
    `${of.rung}-${lettersOf(of) || 'begin'}`,
    events.filter((event) => 'player' in event && event.player === of.player),
  );

/** The run that was the last to begin. */
export function saveRun({ experiment }: RunView): Promise<void> {
  const from = events.findLastIndex((event) => event.kind === 'started');
  const own = events.slice(Math.max(0, from));
  return save(
    experiment,
    own.filter((event) => !('player' in event)),
  );
}

async function save(name: string, own: readonly StageEvent[]): Promise<void> {
  const packed = await (await fetch('/page.packed')).text();
  const html = replayFile({ packed, events: own });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([html], { type: 'text/html' }));
  link.download = `lockstep-${name}.html`;
  link.click();
  URL.revokeObjectURL(link.href);
}
