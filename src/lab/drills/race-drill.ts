/**
 * A drill of races: each is played on its rung while other users buy the same voucher, and goes as
 * the ladder claims. A claimed violation must show.
 */

import { countBy } from '../../grouping.ts';
import type { RungName } from '../../ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { instanceNames, type ServiceShape } from '../environment/servers/service.ts';
import { playRace, raceSettings, type Surroundings } from '../races/play-race.ts';
import type { PlayedRace } from '../races/race-verdict.ts';
import type { RaceName } from '../races/schedules.ts';
import { untilKnown } from '../races/until-known.ts';
import { warmRung } from './around-load.ts';
import type { Drill, DrillOptions, DrillResult } from './drill.ts';
import { type PlayUnderLoad, playFigures, playsVerdict } from './race-drill-verdict.ts';
import { loadAround, loadPhases, loadUsers, type RaceLoad } from './race-load.ts';
import { inject } from './recorded.ts';

export interface Play {
  readonly race: RaceName;
  readonly rung: RungName;
  /** In the table of phases, where the name of the race does not fit. */
  readonly phase?: string;
  /** MySQL must refuse the write of the owner that comes too late. */
  readonly refusesWrite?: true;
}

/** Of every race drill, so that one after the other finds its lab ready. */
export const raceDrillShape: ServiceShape = {
  ...{ instances: 4, balancer: 'nginx', network: 'proxied' },
  settings: raceSettings,
};
/** A third of the drill's time is calm: before and after each race. */
const calmShare = 1 / 3;
const leastCalmMs = 500;

type Plays = readonly [Play, ...Play[]];

export interface RaceDrill extends Drill {
  readonly plays: Plays;
}

export const raceDrill = (about: string, plays: Plays): RaceDrill => ({
  about,
  plays,
  async run(lab, options) {
    await lab.ensure(raceDrillShape);
    const calmMs = (options.minutes * 60_000 * calmShare) / (2 * plays.length);
    const played: NamedPlay[] = [];
    const faults: string[] = [];
    for (const play of inOrder(plays, options.seed)) {
      const { all, last } = await untilKnown(
        () => playUnderLoad(lab, play, Math.max(leastCalmMs, calmMs), options),
        undecidedBecause,
        options.progress,
        options.signal,
      );
      faults.push(...all.flatMap((each) => each.faults));
      played.push({ ...last, faults: last.faults.length });
    }
    return result(played, faults);
  },
});

export function undecidedBecause(under: PlayedUnderLoad): string | undefined {
  const { verdict, reasons } = playsVerdict([{ ...under, faults: under.faults.length }]);
  return verdict === 'unknown' ? reasons.join('; ') : undefined;
}

type NamedPlay = PlayUnderLoad & Required<Pick<Play, 'phase'>>;

/** The seed decides which one is first. */
function inOrder(plays: readonly Play[], seed: number): Play[] {
  const first = (seed + plays.length - 1) % plays.length;
  return [...plays.slice(first), ...plays.slice(0, first)];
}

/**
 * Each lane has its own instance. Behind nginx, whose turn it is depends on the load: the second
 * lane could come to the instance that is paused, or cut off.
 */
function addressOf(lab: Lab, lane: number): string {
  return `http://127.0.0.1:${lab.portOf(instanceNames(lab.shape)[lane] ?? '')}`;
}

interface PlayedUnderLoad extends Omit<NamedPlay, 'faults'> {
  readonly faults: readonly string[];
}

async function playUnderLoad(
  lab: Lab,
  play: Play,
  calmMs: number,
  options: DrillOptions,
): Promise<PlayedUnderLoad> {
  const { race, rung, phase = race, refusesWrite = false } = play;
  const { recorder, signal, seed } = options;
  const tokenSecret = lab.tokenSecret;
  const faults: string[] = [];
  let load: RaceLoad | undefined;
  const surroundings: Surroundings = {
    moreStock: loadUsers,
    inject(own, fault) {
      faults.push(fault.name);
      return inject(own, fault, recorder);
    },
    addressOf,
    async around(voucherId, steps) {
      const of = { name: rung, voucherId, tokenSecret, calmMs, signal, recorder };
      load = await loadAround(lab, steps, of);
      return load.tries;
    },
  };
  await warmRung(lab, rung, seed);
  const played = await withConnections(lab, (connections) =>
    playRace(race, rung, lab, connections, surroundings),
  );
  if (!load) throw new RangeError('a race in a drill is played inside its load');
  options.progress(playedText(played));
  return { played, load, faults, phase, refusesWrite };
}

/** In one sentence; with its steps and the evidence where the ladder claims otherwise. */
function playedText({ race, rung, verdict, asClaimed, evidence, steps }: PlayedRace): string {
  const text = `${race} on ${rung}: ${verdict}`;
  if (asClaimed) return `${text}, as claimed`;
  const reached = steps.map(({ lane, at }) => `${lane} ${at}`).join(', ');
  return `${text}, NOT as claimed: ${evidence} (${reached})`;
}

function result(plays: readonly NamedPlay[], faults: readonly string[]): DrillResult {
  const notAsClaimed = plays.filter(({ played }) => !played.asClaimed);
  return {
    ...playsVerdict(plays),
    figures: playFigures(plays),
    phases: plays.flatMap(({ played, phase, load }) => loadPhases(played.rung, phase, load)),
    faults: countBy(faults),
    facts: notAsClaimed.map(({ played }) => played.facts),
  };
}
