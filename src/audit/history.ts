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
