/** The scoreboard as rows of short marks; a cell that was not played is an empty string. Pure. */

import { lockServiceOf } from '../drills/lock-outages.ts';
import {
  agreement,
  type Cell,
  type CellPlay,
  casesOf,
  marks,
  type OutageCost,
  outcomeOfPlay,
  worstOutcome,
} from '../scoreboard/cell.ts';
import { outageFaults, safetyFaults, scoredRungs } from '../scoreboard/columns.ts';
import type { ScoredCell } from '../stage/events.ts';
import type { Machine } from './machine.ts';

/** A command that played cells, and when. */
export interface ScoreboardRun {
  readonly command: string;
  readonly time: string;
}

/** What was played on one machine, by these commands. */
export interface Scoreboard {
  readonly runs: readonly ScoreboardRun[];
  readonly machine: Machine;
  readonly cells: readonly Cell[];
}

export interface Row {
  readonly rung: string;
  /** `2 of 3`: how many of its lock servers must run. */
  readonly needs: string;
  /** One for each fault; null where the cell was not played. */
  readonly safety: readonly (Cell | null)[];
  readonly outages: readonly (Cell | null)[];
}

/**
 * The newest play of each cell. Runs on another machine, or with other versions, than the newest
 * run are left out.
 * @param oldestFirst what each command played.
 */
export function mergedScoreboard(oldestFirst: readonly Scoreboard[]): Scoreboard | null {
  const newest = oldestFirst.at(-1);
  if (!newest) return null;
  const isSame = ({ machine }: Scoreboard) =>
    JSON.stringify(machine) === JSON.stringify(newest.machine);
  const cells = new Map<string, readonly [Cell, Scoreboard]>();
  for (const board of oldestFirst.filter(isSame))
    for (const cell of board.cells) cells.set(`${cell.rung} ${cell.fault}`, [cell, board]);
  const kept = [...cells.values()];
  const used = oldestFirst.filter((board) => kept.some(([, from]) => from === board));
  return {
    runs: used.flatMap(({ runs }) => runs),
    machine: newest.machine,
    cells: kept.map(([cell]) => cell),
  };
}

/** Every rung, also one that was not played. */
export function scoreRows(cells: readonly Cell[]): Row[] {
  const find = (rung: string, fault: string) =>
    cells.find((cell) => cell.rung === rung && cell.fault === fault) ?? null;
  return scoredRungs.map((rung) => {
    const { servers, needed } = lockServiceOf(rung);
    return {
      rung,
      needs: `${needed} of ${servers.length}`,
      safety: safetyFaults.map((fault) => find(rung, fault)),
      outages: outageFaults.map(({ name }) => find(rung, name)),
    };
  });
}

export const notAsClaimed = '!';
const notClaimed = (cell: Cell): string => (agreement(cell) === 'no' ? notAsClaimed : '');

/** `✗2`: the data is wrong, two cases. */
export function safetyMark(cell: Cell | null): string {
  if (cell === null) return '';
  const cases = casesOf(cell);
  return `${marks[worstOutcome(cell)]}${cases > 0 ? cases : ''}${notClaimed(cell)}`;
}

/** `– 2.6 +0.1`: nothing sold; no sale for 2.6 s; the first one 0.1 s after the servers. */
export function outageMark(cell: Cell | null): string {
  if (cell === null) return '';
  const [cost] = cell.plays.flatMap(({ cost = [] }) => cost).toSorted(byGap);
  if (!cost || agreement(cell) === 'unknown') return marks.unknown;
  const isBroken = casesOf(cell) > 0;
  const sold = isBroken ? safetyMark(cell) : `${cost.soldOn ? '✓' : '–'}${notClaimed(cell)}`;
  const left = leftMax(cell) > 0 ? ` ${marks.stuck}${leftMax(cell)}` : '';
  return `${sold} ${seconds(cost.withoutSalesMs)} +${seconds(cost.resumedAfterMs)}${left}`;
}

const leftMax = ({ plays }: Cell): number =>
  Math.max(0, ...plays.map(({ cost }) => cost?.leftLocks ?? 0));

const byGap = (one: OutageCost, other: OutageCost): number =>
  other.withoutSalesMs - one.withoutSalesMs;

const seconds = (ms: number | null): string => (ms === null ? 'never' : (ms / 1_000).toFixed(1));

const words = {
  wrong: 'the data is wrong',
  overlap: 'two owners at once, and the data is right',
  stuck: 'a free lock cannot be acquired',
  unknown: 'could not tell',
  held: 'held',
} as const;

/** What was seen in a cell, in one sentence. */
export function cellSentence(cell: Cell): string {
  const claim = { yes: 'as claimed', no: 'NOT as claimed', unknown: 'the claim is open' };
  const shown = worstPlay(cell);
  const times = cell.plays.length > 1 ? `, ${cell.plays.length} plays` : '';
  const evidence = shown?.evidence ? `: ${shown.evidence}` : '';
  const what = shown?.cost ? outageWords(shown, shown.cost) : words[worstOutcome(cell)];
  return `${what}, ${claim[agreement(cell)]}${times}${evidence}`;
}

/** For the report: each cell that was played, in the order of the table. */
export function scoredCells(cells: readonly Cell[]): ScoredCell[] {
  const told = (cell: Cell, isOutage: boolean): ScoredCell => {
    const { rung, fault } = cell;
    const mark = isOutage ? outageMark(cell) : safetyMark(cell);
    return { rung, fault, isOutage, mark, says: cellSentence(cell) };
  };
  return scoreRows(cells).flatMap(({ safety, outages }) => [
    ...safety.flatMap((cell) => (cell ? [told(cell, false)] : [])),
    ...outages.flatMap((cell) => (cell ? [told(cell, true)] : [])),
  ]);
}

/** A play that was not as claimed, else one with the outcome that the cell shows. */
const worstPlay = (cell: Cell): CellPlay | undefined =>
  cell.plays.find(({ asClaimed }) => !asClaimed) ??
  cell.plays.find((play) => outcomeOfPlay(play) === worstOutcome(cell));

function outageWords(play: CellPlay, { soldOn, withoutSalesMs, resumedAfterMs }: OutageCost) {
  const sold = soldOn ? 'sold on' : 'refused';
  const back =
    resumedAfterMs === null
      ? 'nothing was sold again'
      : `first sale ${seconds(resumedAfterMs)} s after the servers`;
  const gap = `longest time without a sale ${seconds(withoutSalesMs)} s, ${back}`;
  return `${sold}; ${gap}${play.broken.length > 0 ? `; ${words[outcomeOfPlay(play)]}` : ''}`;
}

/** `298 cells played: 298 as claimed`. */
export function countsText(cells: readonly Cell[]): string {
  const count = (wanted: string) => cells.filter((cell) => agreement(cell) === wanted).length;
  const other = [
    [count('no'), 'NOT as claimed'],
    [count('unknown'), 'could not tell'],
  ].flatMap(([number, text]) => (number === 0 ? [] : [`${number} ${text}`]));
  return [`${cells.length} cells played: ${count('yes')} as claimed`, ...other].join(', ');
}

export const markLegend: readonly (readonly [mark: string, meaning: string])[] = [
  [marks.held, 'every promise held'],
  [`${marks.wrong}n`, 'the data is wrong, n cases: two orders for one user, or too many orders'],
  [`${marks.overlap}n`, 'two owners were inside at once, n cases; the data is right all the same'],
  [`${marks.stuck}n`, 'a free lock could not be acquired, n cases; the data is right'],
  [marks.unknown, 'could not tell'],
  [notAsClaimed, 'not what the ladder claims for this rung'],
  ['empty', 'not played'],
];

export const outageLegend: readonly (readonly [mark: string, meaning: string])[] = [
  ['✓', 'sold on'],
  ['–', 'sold nothing meanwhile, and said why'],
  ['2.6', 'seconds: the longest time without a sale, by when buyers asked'],
  ['+0.1', 'seconds from the moment when the servers run again to the first sale'],
  [`${marks.stuck}19`, 'locks left that nobody holds: their users cannot buy until the lease ends'],
  ['✗∥⊘n', 'in front, instead of ✓ or –: a promise broke, as in the first table'],
  [notAsClaimed, 'not what the ladder claims for this rung'],
];
