/**
 * A drill of races: each is played on its rung while other users buy the same voucher, and goes as
 * the ladder claims. A claimed violation must show.
 */
import type { RungName } from '../../service/ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import { instanceNames, type ServiceShape } from '../environment/servers/service.ts';
import { placeWords } from '../play/place-words.ts';
import { playRace, type RaceUnderLoad, raceSettings } from '../play/play-race.ts';
import { replayWhileTooSlow } from '../play/race-on.ts';
import type { PlayedRace } from '../play/race-verdict.ts';
import type { RaceName } from '../play/schedules.ts';
import type { Bilingual, Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import type { Drill } from './drill.ts';
import { phaseTable } from './phases.ts';
import { type PlayUnderLoad, playFigures, playsVerdict } from './race-drill-verdict.ts';
import { loadAround, loadPhases, loadUsers, type RaceLoad } from './race-load.ts';
import { warmRung } from './warm-rung.ts';

export interface DrilledRace {
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
const calmMsMin = 500;

type Plays = readonly [DrilledRace, ...DrilledRace[]];

export interface RaceDrill extends Drill {
  readonly plays: Plays;
}

export const raceDrill = (about: Bilingual, takesMinutes: number, plays: Plays): RaceDrill => ({
  about,
  takesMinutes,
  plays,
  async play(stage, { seed, minutes }) {
    await stage.serve(raceDrillShape);
    const share = (minutes * 60_000 * calmShare) / (2 * plays.length);
    const calmMs = Math.max(calmMsMin, share);
    const played: NamedPlay[] = [];
    for (const play of inOrder(plays, seed)) {
      const last = await replayWhileTooSlow(
        () => playUnderLoad(stage, play, calmMs, seed),
        undecidedBecause,
        (text) => stage.note(text),
        stage.signal,
      );
      played.push(last);
    }
    return judge(played);
  },
});

export function undecidedBecause(under: PlayUnderLoad): string | undefined {
  const { verdict, reasons } = playsVerdict([under]);
  return verdict === 'unknown' ? reasons.join('; ') : undefined;
}

type NamedPlay = PlayUnderLoad & Required<Pick<DrilledRace, 'phase'>>;

/** The seed decides which one is first. */
function inOrder(plays: readonly DrilledRace[], seed: number): DrilledRace[] {
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

async function playUnderLoad(
  stage: Stage,
  play: DrilledRace,
  calmMs: number,
  seed: number,
): Promise<NamedPlay> {
  const { race, rung, phase = race, refusesWrite = false } = play;
  const faultsBefore = stage.injected.length;
  let load: RaceLoad | undefined;
  const surroundings: RaceUnderLoad = {
    moreStock: loadUsers,
    addressOf,
    async around(voucherId, steps) {
      load = await loadAround(stage, rung, voucherId, calmMs, steps);
    },
  };
  await warmRung(stage, rung, seed);
  const played = await playRace(stage, race, rung, surroundings);
  if (!load) throw new RangeError('a race in a drill is played inside its load');
  stage.note(playedText(played));
  const faults = stage.injected.length - faultsBefore;
  return { played, load, faults, phase, refusesWrite };
}

/** In one sentence; with its steps and the evidence where the ladder claims otherwise. */
function playedText({ race, rung, verdict, asClaimed, evidence, steps }: PlayedRace): string {
  const text = `${race} on ${rung}: ${verdict}`;
  if (asClaimed) return `${text}, as claimed`;
  const reached = steps.map(({ lane, place }) => `${lane} ${placeWords(place, 'en')}`).join(', ');
  return `${text}, NOT as claimed: ${evidence} (${reached})`;
}

function judge(plays: readonly NamedPlay[]): Judged {
  const phases = plays.flatMap(({ played, phase, load }) => loadPhases(played.rung, phase, load));
  const notAsClaimed = plays.filter(({ played }) => !played.asClaimed);
  return {
    ...playsVerdict(plays),
    figures: playFigures(plays),
    tables: [phaseTable(phases)],
    facts: notAsClaimed.map(({ played }) => played.facts),
  };
}
