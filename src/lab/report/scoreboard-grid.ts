/** The scoreboard as rows of short marks; a cell that was not played is an empty string. Pure. */

import type { Language } from '../../texts/texts.ts';
import { lockServiceOf } from '../drills/lock-outages.ts';
import {
  agreement,
  type Cell,
  type CellPlay,
  casesOf,
  marks,
  type OutageCost,
  type Outcome,
  outcomeOfPlay,
  worstOutcome,
} from '../scoreboard/cell.ts';
import { outageFaults, safetyFaults, scoredRungs } from '../scoreboard/columns.ts';
import type { ScoredCell } from '../stage/events.ts';
import { type Bilingual, evidenceIn } from '../stage/result.ts';
import type { Machine } from './machine.ts';

/** What was played on one machine, by these commands. */
export interface Scoreboard {
  readonly runs: readonly { readonly command: string; readonly time: string }[];
  readonly machine: Machine;
  readonly cells: readonly Cell[];
}

export interface Row {
  readonly rung: string;
  /** `2 of 3`: how many of its lock servers must run. */
  readonly needs: Bilingual;
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
      needs: { en: `${needed} of ${servers.length}`, zh: `${needed}/${servers.length}` },
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

const en = {
  outcomes: {
    wrong: 'the data is wrong',
    overlap: 'two owners at once, and the data is right',
    stuck: 'a free lock cannot be acquired',
    unknown: 'could not tell',
    held: 'held',
  } satisfies Record<Outcome, string>,
  claims: { yes: 'as claimed', no: 'NOT as claimed', unknown: 'the claim is open' },
  sentence: (what: string, claim: string, plays: number, evidence: string) =>
    `${what}, ${claim}${plays > 1 ? `, ${plays} plays` : ''}${evidence && `: ${evidence}`}`,
  outage: ({ soldOn, withoutSalesMs, resumedAfterMs }: OutageCost, broken: string) => {
    const back =
      resumedAfterMs === null
        ? 'nothing was sold again'
        : `first sale ${seconds(resumedAfterMs)} s after the servers`;
    const gap = `longest time without a sale ${seconds(withoutSalesMs)} s, ${back}`;
    return `${soldOn ? 'sold on' : 'refused'}; ${gap}${broken && `; ${broken}`}`;
  },
  counts: (all: number, asClaimed: number, not: number, unknown: number) =>
    `${all} cells played: ${asClaimed} as claimed` +
    (not > 0 ? `, ${not} NOT as claimed` : '') +
    (unknown > 0 ? `, ${unknown} could not tell` : ''),
};
type Words = typeof en;

const zh: Words = {
  outcomes: {
    wrong: '数据错了',
    overlap: '同时有两个持有者，数据没错',
    stuck: '空闲的锁拿不到',
    unknown: '判断不了',
    held: '通过',
  },
  claims: { yes: '与预期一致', no: '与预期不一致', unknown: '不知是否符合预期' },
  sentence: (what, claim, plays, evidence) =>
    `${what}，${claim}${plays > 1 ? `，跑了 ${plays} 次` : ''}${evidence && `：${evidence}`}`,
  outage: ({ soldOn, withoutSalesMs, resumedAfterMs }, broken) => {
    const back =
      resumedAfterMs === null
        ? '之后再没有成交'
        : `服务器恢复后 ${seconds(resumedAfterMs)} 秒第一次成交`;
    const gap = `最长 ${seconds(withoutSalesMs)} 秒没有成交，${back}`;
    return `${soldOn ? '继续成交' : '全部拒绝'}；${gap}${broken && `；${broken}`}`;
  },
  counts: (all, asClaimed, not, unknown) =>
    `跑了 ${all} 格：${asClaimed} 格与预期一致` +
    (not > 0 ? `，${not} 格不一致` : '') +
    (unknown > 0 ? `，${unknown} 格判断不了` : ''),
};

const words: Readonly<Record<Language, Words>> = { en, zh };

/** What was seen in a cell, in one sentence. Its evidence is as it was recorded. */
export function cellSentence(cell: Cell, language: Language = 'en'): string {
  const say = words[language];
  const shown = worstPlay(cell);
  const broken = shown && shown.broken.length > 0 ? say.outcomes[outcomeOfPlay(shown)] : '';
  const what = shown?.cost ? say.outage(shown.cost, broken) : say.outcomes[worstOutcome(cell)];
  const claim = say.claims[agreement(cell)];
  return say.sentence(what, claim, cell.plays.length, shown ? evidenceIn(language, shown) : '');
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

/** `298 cells played: 298 as claimed`. */
export function countsText(cells: readonly Cell[], language: Language = 'en'): string {
  const count = (wanted: string) => cells.filter((cell) => agreement(cell) === wanted).length;
  return words[language].counts(cells.length, count('yes'), count('no'), count('unknown'));
}

const notClaimedLegend = {
  [notAsClaimed]: { en: 'not what the ladder claims for this rung', zh: '与这个方案的预期不一致' },
};

export const markLegend: Readonly<Record<string, Bilingual>> = {
  [marks.held]: { en: 'every promise held', zh: '每个承诺都守住了' },
  [`${marks.wrong}n`]: {
    en: 'the data is wrong, n cases: two orders for one user, or too many orders',
    zh: '数据错了，n 处：一人两单，或者超卖',
  },
  [`${marks.overlap}n`]: {
    en: 'two owners were inside at once, n cases; the data is right all the same',
    zh: '同时有两个持有者，n 处；数据碰巧没错',
  },
  [`${marks.stuck}n`]: {
    en: 'a free lock could not be acquired, n cases; the data is right',
    zh: '空闲的锁拿不到，n 处；数据没错',
  },
  [marks.unknown]: { en: 'could not tell', zh: '判断不了' },
  ...notClaimedLegend,
  empty: { en: 'not played', zh: '没有跑' },
};

export const outageLegend: Readonly<Record<string, Bilingual>> = {
  '✓': { en: 'sold on', zh: '继续成交' },
  '–': { en: 'sold nothing meanwhile, and said why', zh: '期间没有成交，并且说明了原因' },
  '2.6': {
    en: 'seconds: the longest time without a sale, by when buyers asked',
    zh: '秒：最长多久没有成交，按买家请求的时刻算',
  },
  '+0.1': {
    en: 'seconds from the moment when the servers run again to the first sale',
    zh: '秒：服务器重新运行之后多久第一次成交',
  },
  [`${marks.stuck}19`]: {
    en: 'locks left that nobody holds: their users cannot buy until the lease ends',
    zh: '残留的、没有人持有的锁：租约到期之前，这些用户买不了',
  },
  '✗∥⊘n': {
    en: 'in front, instead of ✓ or –: a promise broke, as in the first table',
    zh: '在最前面，代替 ✓ 或 –：违反了承诺，含义和第一张表一样',
  },
  ...notClaimedLegend,
};
