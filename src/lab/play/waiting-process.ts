/** Finds the process in which a request waits, by the files of the history. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HistoryEvent } from '../../service/trace/history.ts';
import type { Wait } from '../stage/place.ts';

const outcomes: readonly string[] = ['accepted', 'refused', 'unknown'];

/**
 * `lock`: the last that it did with its lock was to request it. `row`: it has arrived, and has no
 * outcome; whether it waits for a row of MySQL, or is slow, only time can tell.
 * @returns the process id; undefined when the request does not wait.
 */
export function waitingProcess(
  historyFolder: string,
  requestId: string,
  waitsFor: Wait,
): number | undefined {
  const files = readdirSync(historyFolder).filter((file) => file.endsWith('.jsonl'));
  for (const file of files) {
    const lines = readFileSync(join(historyFolder, file), 'utf8').split('\n');
    const own = lines
      .filter((line) => line.includes(`"requestId":"${requestId}"`))
      .map((line) => JSON.parse(line) as HistoryEvent);
    if (isWaiting(own, waitsFor)) return Number(/(\d+)\.jsonl$/.exec(file)?.[1]);
  }
  return undefined;
}

function isWaiting(events: readonly HistoryEvent[], waitsFor: Wait): boolean {
  const has = (names: readonly string[]) => events.some(({ event }) => names.includes(event));
  if (waitsFor === 'row') return has(['received']) && !has(outcomes);
  return events.findLast(({ resource }) => resource !== undefined)?.event === 'requested';
}
