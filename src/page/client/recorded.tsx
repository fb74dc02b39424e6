/** A file of recorded events: what it shows first, its cursor, and the list of its races. */
import { verdictMarks } from './cards.tsx';
import { Select } from './controls.tsx';
import { cursor, events, liveWorld, world } from './event-log.ts';
import { raceKey } from './play-model.ts';
import { type View, view } from './route.tsx';
import { page } from './texts.ts';

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
