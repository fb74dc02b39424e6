/** The history of one voucher, read from the files of every process and put in order. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Death, HistoryEvent } from '../history.ts';

export function readHistory(folder: string, voucherId: string): HistoryEvent[] {
  const mark = `"voucherId":"${voucherId}"`;
  const lines = new Map(files(folder).map((file) => [file, linesOf(join(folder, file))]));
  const deaths = parse<Death>([...lines.values()].flat(), '"event":"died"');
  const diedAt = new Map(deaths.map(({ pid, at }) => [String(pid), at]));
  const events = [...lines].flatMap(([file, all]) => {
    const own = parse<HistoryEvent>(all, mark);
    return [...own, ...diedInside(own, diedAt.get(/(\d+)\.jsonl$/.exec(file)?.[1] ?? ''))];
  });
  return events.sort((a, b) => (BigInt(a.at) < BigInt(b.at) ? -1 : 1));
}

const linesOf = (file: string): string[] => readFileSync(file, 'utf8').split('\n');

const parse = <Entry>(lines: readonly string[], mark: string): Entry[] =>
  lines.filter((line) => line.includes(mark)).map((line) => JSON.parse(line) as Entry);

/** Whoever was in a critical section when the process died is not in it any more. */
function diedInside(events: readonly HistoryEvent[], at: string | undefined): HistoryEvent[] {
  if (at === undefined) return [];
  const count = (wanted: HistoryEvent['event'], of: string) =>
    events.filter(({ event, orderId }) => event === wanted && orderId === of).length;
  const entered = new Map(events.flatMap((each) => (each.event === 'granted' ? [[each.orderId, each]] : [])));
  const inside = [...entered.values()].filter(
    ({ orderId }) => count('left', orderId) < count('granted', orderId),
  );
  return inside.map((granted) => ({ ...granted, event: 'died', at }));
}

function files(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // Nothing has happened yet.
  }
}

/** Two of these orders that both looked before either was told: they found the same. */
export function lookedTogether(
  events: readonly HistoryEvent[],
  orders: readonly string[],
): readonly [string, string] | undefined {
  const looking = new Set<string>();
  for (const { event, checkpoint, orderId } of events) {
    if (!orders.includes(orderId)) continue;
    const [other] = looking;
    if (checkpoint === 'after-check') {
      if (other !== undefined && other !== orderId) return [other, orderId];
      looking.add(orderId);
    } else if (event === 'accepted') looking.delete(orderId);
  }
  return undefined;
}

/** Who took one from stock, and was never told that it has bought. */
export function tookInVain(events: readonly HistoryEvent[]): string | undefined {
  const told = new Set(events.filter(({ event }) => event === 'accepted').map(({ orderId }) => orderId));
  return events.find(({ checkpoint, orderId }) => checkpoint === 'stock-taken' && !told.has(orderId))
    ?.orderId;
}

/**
 * A critical section: from the grant of a lock to its release, to the death of its process, or to the end of the
 * history. One who enters again is in it until he has left as often.
 */
export interface Section {
  readonly resource: string;
  readonly orderId: string;
  readonly userId: string;
  readonly instance: string;
  readonly from: bigint;
  readonly to: bigint;
}

export function sectionsOf(events: readonly HistoryEvent[]): Section[] {
  const end = BigInt(events.at(-1)?.at ?? 0) + 1n;
  const ofLocks = events.filter(({ resource }) => resource !== undefined);
  const orders = [...new Set(ofLocks.map(({ orderId }) => orderId))];
  return orders.flatMap((order) => {
    const all = ofLocks.filter(({ orderId }) => orderId === order);
    const entered = all.filter(({ event }) => event === 'granted');
    const left = all.filter(({ event }) => event === 'left');
    const died = all.find(({ event }) => event === 'died');
    const last = left.length < entered.length ? died : left.at(-1);
    const [first] = entered;
    if (!first?.resource) return [];
    const { resource, orderId, userId, instance, at } = first;
    return [{ resource, orderId, userId, instance, from: BigInt(at), to: last ? BigInt(last.at) : end }];
  });
}
