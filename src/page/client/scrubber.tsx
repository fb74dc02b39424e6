/**
 * The time of a run, painted with what happened: it is shown as it was at any moment. And a file of
 * recorded events: what it shows first, its cursor, and the list of its races.
 */

import { computed, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { connection } from './api.ts';
import { verdictMarks } from './cards.tsx';
import { Button, Select } from './controls.tsx';
import { cursor, events, liveWorld, world } from './event-log.ts';
import { msOf, raceKey } from './play-model.ts';
import { type View, view } from './route.tsx';
import { type Moment, momentsOf, zeroOf } from './run-model.ts';
import { page } from './texts.ts';

const speeds = [1, 0.1, 0.01, 0.001] as const;
const speed = signal<number>(1);
const isPlaying = signal(false);
const movedToMs = signal<number | null>(null);
/** The moment that is shown; null: the last. Another view begins with that. */
export const shownMs = computed(() => (cursor.value === null ? null : movedToMs.value));

export function backToLive(): void {
  cursor.value = null;
  movedToMs.value = null;
  isPlaying.value = false;
}

function showAt(ms: number): void {
  movedToMs.value = ms;
  const last = events.findLastIndex((event) => msOf(event) <= ms);
  cursor.value = Math.max(1, last + 1);
}

export function Scrubber() {
  const { run, races } = liveWorld.value;
  usePlaying();
  if (!run) return null;
  const beganAtMs = msOf(run);
  const endMs = Math.max(beganAtMs, ...events.slice(-50).map(msOf));
  const lengthMs = Math.max(1, endMs - beganAtMs);
  const own = [...races.values()].filter((each) => msOf(each) >= beganAtMs);
  const moments = momentsOf(run, own);
  const atMs = Math.min(endMs, shownMs.value ?? endMs);
  return (
    <section class="scrubber" aria-label={page.value.words.time}>
      <svg
        width="100%"
        height="18"
        viewBox="0 0 1000 18"
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {[...new Set(moments.map(({ kind }) => kind))].map((kind) => (
          <path
            key={kind}
            class={kind}
            d={linesOf(moments, kind, (ms) => (1_000 * (ms - beganAtMs)) / lengthMs)}
          />
        ))}
      </svg>
      <input
        type="range"
        min={beganAtMs}
        max={endMs}
        step="any"
        value={atMs}
        aria-label={page.value.words.time}
        onInput={({ currentTarget }) => {
          isPlaying.value = false;
          showAt(Number(currentTarget.value));
        }}
      />
      <Controls moments={moments} atMs={atMs} zeroMs={zeroOf(run)} />
    </section>
  );
}

/** One path for all of a kind: a soak has hundreds. */
const linesOf = (moments: readonly Moment[], kind: Moment['kind'], x: (ms: number) => number) =>
  moments
    .filter((moment) => moment.kind === kind)
    .map(({ atMs }) => `M${x(atMs)} ${kind === 'healed' ? '9V18' : '0V9'}`)
    .join('');

interface ControlsProps {
  readonly moments: readonly Moment[];
  readonly atMs: number;
  readonly zeroMs: number;
}

function Controls({ moments, atMs, zeroMs }: ControlsProps) {
  const { words } = page.value;
  const next = moments.find((moment) => moment.atMs > atMs + 0.5);
  const before = moments.findLast((moment) => moment.atMs < atMs - 0.5);
  const jump = (to: Moment | undefined) => () => {
    isPlaying.value = false;
    if (to) showAt(to.atMs);
  };
  return (
    <div class="row wrap">
      <b data-shown-at>{((atMs - zeroMs) / 1_000).toFixed(1)} s</b>
      <Button data-jump="before" disabled={!before} onClick={jump(before)}>
        ← {words.momentBefore}
      </Button>
      <Button data-jump="next" disabled={!next} onClick={jump(next)}>
        {words.nextMoment} →
      </Button>
      <Button data-run-time onClick={() => play(atMs)}>
        {isPlaying.value ? `∥ ${words.halt}` : `▶ ${words.runTime}`}
      </Button>
      <Select
        aria-label={words.speed}
        value={String(speed.value)}
        options={speeds.map((each) => [
          String(each),
          each === 1 ? '1×' : `1/${Math.round(1 / each)}×`,
        ])}
        onChosen={(chosen) => {
          speed.value = Number(chosen);
        }}
      />
      <BackToLive />
    </div>
  );
}

function BackToLive() {
  const { words } = page.value;
  if (shownMs.value === null) return null;
  return (
    <Button class="next" data-live onClick={backToLive}>
      {connection.value === 'recorded' ? words.theEnd : words.live}
    </Button>
  );
}

/** Above the view, which is that of an earlier moment. */
export function ThePast({ zeroMs }: { zeroMs: number }) {
  if (shownMs.value === null) return null;
  return (
    <p class="row past" role="status" data-past>
      {page.value.asItWas(((shownMs.value - zeroMs) / 1_000).toFixed(1))} <BackToLive />
    </p>
  );
}

function play(atMs: number): void {
  if (!isPlaying.value) showAt(atMs);
  isPlaying.value = !isPlaying.value;
}

/** A frame shows what has happened since the one before. */
function usePlaying(): void {
  const isOn = isPlaying.value;
  useEffect(() => {
    if (!isOn) return;
    let before = performance.now();
    const step = (now: number) => {
      const next = (shownMs.peek() ?? 0) + (now - before) * speed.peek();
      before = now;
      const last = events.at(-1);
      if (last && next > msOf(last)) backToLive();
      else {
        showAt(next);
        frame = requestAnimationFrame(step);
      }
    };
    let frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [isOn]);
}

/** The race that the address names, `#race-dead-holder-redlock`; else the first thing in the file. */
export function recordedView(): View {
  const { races } = world.value;
  const named = races.get(/^#race-(.+)$/.exec(location.hash)?.[1] ?? '');
  const first = events.find(({ kind }) => kind === 'play' || kind === 'race');
  if (first?.kind === 'play')
    return { is: 'race', rung: first.rung, choices: '', lanes: 2, stopsEverywhere: false };
  const { run } = world.value;
  const drill = /^drill-(.+)$/.exec(run?.experiment ?? '')?.[1] ?? '';
  const { race, rung } = named ?? [...races.values()].at(run ? -1 : 0) ?? {};
  if (race === undefined || rung === undefined || drill !== '')
    return { is: 'run', of: 'drill', drill, minutes: 0, seed: 0 };
  return { is: 'run', of: 'race', race, rung };
}

export const Recording = () => (
  <>
    <Cursor />
    <RaceList />
  </>
);

/** The events so far, of a recording of one thing. */
function Cursor() {
  if (liveWorld.value.races.size > 1 || liveWorld.value.run) return null;
  return (
    <label class="cursor">
      {page.value.words.cursor}
      <input
        type="range"
        min="1"
        max={events.length}
        value={cursor.value ?? events.length}
        onInput={({ currentTarget }) => {
          cursor.value = Number(currentTarget.value);
        }}
      />
    </label>
  );
}

/** Each with its verdict. */
function RaceList() {
  const races = [...world.value.races.values()];
  const wanted = view.value;
  const isList = races.length > 1 && world.value.run === undefined;
  if (!isList || wanted.is !== 'run' || wanted.of !== 'race') return null;
  return (
    <nav class="cursor">
      <Select
        aria-label={page.value.words.race}
        value={raceKey(wanted)}
        options={races.map((race) => [
          raceKey(race),
          `${verdictMarks[race.judged?.verdict ?? 'unknown']} ${race.race} · ${race.rung}`,
        ])}
        onChosen={(key) => {
          location.hash = `race-${key}`;
        }}
      />
    </nav>
  );
}
