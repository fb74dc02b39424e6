/** A race whose steps are fixed, as a pure function of its events: the same rows as a play. */
import type { RaceEvent, StageEvent } from '../../lab/stage/events.ts';
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

/** A fault, or a step that missed, leaves its lane where it is. */
const stateAfter: Readonly<Partial<Record<string, LaneView['state']>>> = {
  ...{ at: 'at', waits: 'waits', answered: 'answered', dead: 'dead' },
};

function stepped(race: RaceView, event: Stamped<'step'>): RaceView {
  const { lane, is, instance } = event;
  const before = race.lanes.get(lane);
  const atMs = msOf(event) - race.beganAtMs;
  const state = event.place === 'paused' ? 'paused' : (stateAfter[is] ?? before?.state);
  const lanes = new Map(race.lanes);
  if (before && state)
    lanes.set(lane, { ...before, state, since: atMs, ...(instance && { instance }) });
  return {
    ...race,
    lanes,
    rows: [...race.rows, rowOf(event, atMs)],
    steps: [...race.steps, event],
  };
}

/** Until the race is judged, the words say only where the lane is. */
function rowOf(event: Stamped<'step'>, atMs: number): Row {
  const { lane, is, reached, instance, place, says } = event;
  return {
    ...{ lane, kind: is === 'missed' ? 'stuck' : is, word: place ?? reached, isWrong: false },
    ...{ step: 0, tookMs: 0, atMs, evidence: [event] },
    ...(instance && { instance }),
    inRace: { reached, ...(place === undefined && { says }) },
  };
}

/** Where the rung with the bug shows its bug, the words are those of the schedule: they tell it. */
function judgedAs(race: RaceView, judged: JudgedRace): RaceView {
  const isViolated = judged.verdict === 'violated';
  const rows = race.rows.map((row, index): Row => {
    const { says, asPlanned = false, reached = '', isWrong = false } = race.steps[index] ?? {};
    const isTold = says && isViolated && race.isOfBug && asPlanned;
    return {
      ...row,
      isWrong: isViolated && isWrong,
      ...(isTold && { inRace: { reached, says } }),
    };
  });
  return { ...race, rows, judged };
}
