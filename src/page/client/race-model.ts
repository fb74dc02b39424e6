/** A race whose steps are fixed, as a pure function of its events: the same rows as a play. */
import type { RaceEvent, StageEvent } from '../../lab/stage/events.ts';
import { instanceAt, nameOfPlace, type ReachedPlace } from '../../lab/stage/place.ts';
import type { Bilingual } from '../../lab/stage/result.ts';
import { type LaneView, msOf, type Row } from './lane-rows.ts';

type Stamped<Kind extends RaceEvent['kind']> = Extract<StageEvent, { readonly kind: Kind }>;
type JudgedRace = Stamped<'race-judged'>;

export interface RaceView {
  readonly race: string;
  readonly rung: string;
  readonly title: Bilingual;
  readonly isOfBug: boolean;
  readonly beganAtMs: number;
  readonly lanes: ReadonlyMap<string, LaneView>;
  readonly rows: readonly Row[];
  /** In the order of the rows. */
  readonly steps: readonly Stamped<'step'>[];
  readonly judged?: JudgedRace;
}

export type Races = ReadonlyMap<string, RaceView>;

export const raceKey = ({ race, rung }: { readonly race: string; readonly rung: string }): string =>
  `${race}-${rung}`;

/** A race that is played again begins anew. The one that began last is the last of them. */
export function addToRaces(races: Races, event: StageEvent): Races {
  if (event.kind === 'race') {
    const others = [...races].filter(([key]) => key !== raceKey(event));
    return new Map([...others, [raceKey(event), raceOf(event)]]);
  }
  const last = [...races.values()].at(-1);
  if (!last || (event.kind !== 'step' && event.kind !== 'race-judged')) return races;
  const next = event.kind === 'step' ? stepped(last, event) : judgedAs(last, event);
  return new Map(races).set(raceKey(last), next);
}

function raceOf(event: Stamped<'race'>): RaceView {
  const { race, rung, title, isOfBug, lanes } = event;
  const views = lanes.map(({ name, userId = '' }): [string, LaneView] => [
    name,
    { name, userId, instance: '', state: 'idle', since: 0 },
  ]);
  const beganAtMs = msOf(event);
  return { race, rung, title, isOfBug, beganAtMs, lanes: new Map(views), rows: [], steps: [] };
}

function stepped(race: RaceView, event: Stamped<'step'>): RaceView {
  const { lane, place } = event;
  const instance = instanceAt(place);
  const before = race.lanes.get(lane);
  const atMs = msOf(event) - race.beganAtMs;
  const lanes = new Map(race.lanes);
  // A fault, or a step that missed, leaves its lane where it is.
  const state = place.is === 'done' || place.is === 'missed' ? before?.state : place.is;
  if (before && state)
    lanes.set(lane, { ...before, state, since: atMs, ...(instance && { instance }) });
  return {
    ...race,
    lanes,
    rows: [...race.rows, rowOf(event, atMs)],
    steps: [...race.steps, event],
  };
}

const kinds = {
  ...{ at: 'at', waits: 'waits', answered: 'answered', dead: 'dead' },
  ...{ paused: 'fault', done: 'fault', missed: 'stuck' },
} as const satisfies Record<ReachedPlace['is'], Row['kind']>;

/** Until the race is judged, the words say only where the lane is. */
function rowOf(event: Stamped<'step'>, atMs: number): Row {
  const { lane, place, says } = event;
  const word = nameOfPlace(place);
  const isOfServers = word === 'injected' || word === 'healed';
  return {
    ...{ lane, kind: kinds[place.is], word, isWrong: false },
    ...{ step: 0, tookMs: 0, atMs, evidence: [event] },
    inRace: { place, ...(isOfServers && { says }) },
  };
}

/** Where the rung with the bug shows its bug, the words are those of the schedule: they tell it. */
function judgedAs(race: RaceView, judged: JudgedRace): RaceView {
  const isViolated = judged.verdict === 'violated';
  const rows = race.rows.map((row, index): Row => {
    const step = race.steps[index];
    if (!step || !isViolated) return row;
    const { place, says, asPlanned, isWrong } = step;
    const isTold = race.isOfBug && asPlanned;
    return { ...row, isWrong, ...(isTold && { inRace: { place, says } }) };
  });
  return { ...race, rows, judged };
}
