/** Finds the process in which a request waits for its lock, by the files of the history. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HistoryEvent } from '../../trace/history.ts';

/** @returns the process id; undefined when the request does not wait for a lock. */
export function waitingProcess(historyFolder: string, requestId: string): number | undefined {
  const files = readdirSync(historyFolder).filter((file) => file.endsWith('.jsonl'));
  for (const file of files) {
    const lines = readFileSync(join(historyFolder, file), 'utf8').split('\n');
    const own = lines.filter((line) => line.includes(`"requestId":"${requestId}"`));
    const last = own
      .map((line) => JSON.parse(line) as HistoryEvent)
      .findLast(({ resource }) => resource !== undefined);
    if (last?.event === 'requested') return Number(/(\d+)\.jsonl$/.exec(file)?.[1]);
  }
  return undefined;
}
