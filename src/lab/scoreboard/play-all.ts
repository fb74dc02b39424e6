/** Plays every planned cell of the scoreboard on real servers. */
import { auditAll } from '../drills/audited.ts';
import { sellThrough } from '../drills/lock-outages.ts';
import { defaultShape } from '../environment/lab.ts';
import { raceOn, raceOnRung } from '../play/race-on.ts';
import type { Emit } from '../stage/events.ts';
import { type Judged, joinedTexts } from '../stage/result.ts';
import type { Experiment } from '../stage/stage.ts';
import { type Stage, withStage } from '../stage/stage.ts';
import {
  agreement,
  type Cell,
  type CellPlay,
  marks,
  outcomeOfPlay,
  playOfError,
  playOfOutage,
  playOfRace,
  unfinishedPlay,
} from './cell.ts';
import {
  type PlannedRace,
  type PlannedSale,
  racesOf,
  type ScoreboardChoice,
  salesOf,
} from './columns.ts';

export interface ScoreboardOptions extends ScoreboardChoice {
  /** How often each cell is played. */
  readonly times: number;
  /** How long an outage lasts, and each calm around it. */
  readonly partMs: number;
}

/** The cells that were played are its own; every other cell is empty. */
export function scoreboardExperiment(): Experiment<ScoreboardOptions, readonly Cell[]> {
  const cells = new Map<string, Cell>();
  return {
    about: {
      en: 'every lock against every fault of a lock',
      zh: '每种锁，对每种锁的故障',
    },
    play: async (stage, options) => {
      await playCells(stage, options, cells);
      return judgedBoard([...cells.values()]);
    },
    soFar: () => ({ own: [...cells.values()] }),
  };
}

function judgedBoard(cells: readonly Cell[]): Judged<readonly Cell[]> {
  const wrong = cells.filter((cell) => agreement(cell) === 'no');
  const doubtful = cells.filter((cell) => agreement(cell) === 'unknown');
  const isUnknown = doubtful.length > 0 || cells.length === 0;
  return {
    verdict: wrong.length > 0 ? 'violated' : isUnknown ? 'unknown' : 'held',
    reasons: [...wrong, ...doubtful].map(({ rung, fault }) => raceOnRung(fault, rung)),
    figures: { cells: cells.length, notAsClaimed: wrong.length, unknown: doubtful.length },
    facts: [],
    own: cells,
  };
}

async function playCells(
  stage: Stage,
  options: ScoreboardOptions,
  cells: Map<string, Cell>,
): Promise<void> {
  const races = racesOf(options);
  const sales = salesOf(options);
  const total = options.times * (races.length + sales.length);
  let step = 0;
  const add = (rung: string, fault: string, play: CellPlay) => {
    const key = `${rung} ${fault}`;
    const plays = [...(cells.get(key)?.plays ?? []), play];
    cells.set(key, { rung, fault, plays });
    const mark = marks[outcomeOfPlay(play)];
    stage.note({
      en: `${step} of ${total}: ${key}: ${mark}${play.asClaimed ? '' : ' NOT AS CLAIMED'}`,
      zh: `${step}/${total} ${key}：${mark}${play.asClaimed ? '' : '，与预期不一致'}`,
    });
  };
  const times = Array.from({ length: options.times }, (_, time) => time);
  for (const race of races)
    for (const _ of times) {
      step += 1;
      add(race.rung, race.fault, await playOneRace(stage, race));
    }
  for (const sale of sales)
    for (const seed of times) {
      step += 1;
      const plays = await playOneSale(stage, sale, seed, options.partMs);
      for (const [fault, play] of plays) add(sale.rung, fault, play);
    }
}

/** Every race is played through the proxies, so that the service does not restart between them. */
const playOneRace = (board: Stage, { race, rung }: PlannedRace): Promise<CellPlay> =>
  told(
    board,
    async (stage) => playOfRace(await raceOn(stage, race, rung, 'proxied')),
    playOfError,
    (event) => event.kind === 'note' && board.emit(event),
  );

async function playOneSale(
  board: Stage,
  { rung, network, outages }: PlannedSale,
  seed: number,
  partMs: number,
): Promise<[fault: string, play: CellPlay][]> {
  const plans = outages.map(({ plan }) => plan);
  const claims = { partMs, soldAgainWithinMs: Number.POSITIVE_INFINITY };
  const request = { rung, plans, seed, title: 'scoreboard', ...claims };
  const play = async (stage: Stage): Promise<[string, CellPlay][]> => {
    await stage.serve({ ...defaultShape, network });
    const sale = await sellThrough(stage, request);
    const [audited] = auditAll([sale.facts]);
    if (!audited) throw new RangeError('a sale is audited');
    const unfinished = unfinishedPlay(joinedTexts(sale.unfinished));
    return outages.map(({ fault }, index) => {
      const seen = sale.seen[index];
      return [fault, seen ? playOfOutage(seen, audited) : unfinished];
    });
  };
  return told(board, play, (error) =>
    outages.map(({ fault }) => [fault, playOfError(error)] as [string, CellPlay]),
  );
}

/**
 * On a stage of its own. An error is a cell that could not tell; an interruption ends the command.
 */
async function told<T>(
  { lab, signal }: Stage,
  play: (stage: Stage) => Promise<T>,
  otherwise: (error: Error) => T,
  emit?: Emit,
): Promise<T> {
  signal.throwIfAborted();
  try {
    return await withStage(lab, signal, play, emit);
  } catch (error) {
    signal.throwIfAborted();
    await lab.heal();
    return otherwise(error instanceof Error ? error : new Error(String(error)));
  }
}
