/** Reads the history of one voucher from the files of all processes, in order. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Death, HistoryEvent } from '../trace/history.ts';
import type { Facts } from './facts.ts';

export type History = Required<Pick<Facts, 'history' | 'historyHasGap'>>;

export function readHistory(folder: string, voucherId: string): History {
  const lines = allLines(folder);
  const events = eventsIn(lines, `"voucherId":"${voucherId}"`);
  const historyHasGap = [...lines.values()].flat().some((line) => line.includes('"event":"gap"'));
  return { history: events, historyHasGap };
}

/** What happened to every lock, of all vouchers, in order. */
export const lockEvents = (folder: string): HistoryEvent[] =>
  eventsIn(allLines(folder), '"resource":');

type Lines = ReadonlyMap<string, readonly string[]>;

const allLines = (folder: string): Lines =>
  new Map(files(folder).map((file) => [file, linesOf(join(folder, file))]));

/** The events with this mark, in order, and the deaths of those that were inside. */
function eventsIn(lines: Lines, mark: string): HistoryEvent[] {
  const deaths = parse<Death>([...lines.values()].flat(), '"event":"died"');
  const diedAt = new Map(deaths.map(({ pid, at }) => [String(pid), at]));
  const events = [...lines].flatMap(([file, all]) => {
    const own = parse<HistoryEvent>(all, mark);
    const pid = /(\d+)\.jsonl$/.exec(file)?.[1] ?? '';
    return [...own, ...diedInside(own, diedAt.get(pid))];
  });
  return events.sort(byTime);
}

const byTime = (one: HistoryEvent, other: HistoryEvent): number =>
  BigInt(one.at) < BigInt(other.at) ? -1 : 1;

const linesOf = (file: string): string[] => readFileSync(file, 'utf8').split('\n');

const parse = <Entry>(lines: readonly string[], mark: string): Entry[] =>
  lines.filter((line) => line.includes(mark)).map((line) => JSON.parse(line) as Entry);

/** A `died` event for every order that held a lock, or waited for one, when the process died. */
function diedInside(events: readonly HistoryEvent[], at: string | undefined): HistoryEvent[] {
  if (at === undefined) return [];
  const byOrder = Map.groupBy(events, ({ orderId }) => orderId);
  return [...byOrder.values()].flatMap((all) => {
    const count = (wanted: HistoryEvent['event']) =>
      all.filter(({ event }) => event === wanted).length;
    const first = all.find(({ event }) => event === 'requested');
    const isOpen = count('requested') > count('denied') + count('releasing');
    return first && isOpen ? [{ ...first, event: 'died' as const, at }] : [];
  });
}

function files(folder: string): string[] {
  try {
    return readdirSync(folder).filter((file) => file.endsWith('.jsonl'));
  } catch {
    return []; // Nothing has happened yet.
  }
}
