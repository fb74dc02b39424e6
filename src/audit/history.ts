/** The history of one voucher, read from the files of every process and put in order. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HistoryEvent } from '../history.ts';

export function readHistory(folder: string, voucherId: string): HistoryEvent[] {
  const mark = `"voucherId":"${voucherId}"`;
  const lines = files(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
  const events = lines.filter((line) => line.includes(mark)).map((line) => JSON.parse(line) as HistoryEvent);
  return events.sort((a, b) => (BigInt(a.at) < BigInt(b.at) ? -1 : 1));
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
      if (other !== undefined) return [other, orderId];
      looking.add(orderId);
    } else if (event === 'accepted') looking.delete(orderId);
  }
  return undefined;
}

/** Who went in and never came out. */
export function neverLeft(events: readonly HistoryEvent[]): string[] {
  const left = new Set(events.filter(({ event }) => event === 'left').map(({ orderId }) => orderId));
  return sectionsOf(events).flatMap(({ orderId }) => (left.has(orderId) ? [] : [orderId]));
}

/** A critical section: from the grant of a lock to its release, or to the end of the history. */
export interface Section {
  readonly resource: string;
  readonly orderId: string;
  readonly instance: string;
  readonly from: bigint;
  readonly to: bigint;
}

export function sectionsOf(events: readonly HistoryEvent[]): Section[] {
  const end = BigInt(events.at(-1)?.at ?? 0) + 1n;
  const left = new Map(
    events.filter(({ event }) => event === 'left').map((event) => [event.orderId, BigInt(event.at)]),
  );
  return events.flatMap(({ event, resource, orderId, instance, at }) =>
    event === 'granted' && resource !== undefined
      ? [{ resource, orderId, instance, from: BigInt(at), to: left.get(orderId) ?? end }]
      : [],
  );
}
