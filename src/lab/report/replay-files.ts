/** A play of choices as a file that replays anywhere: the page of the lab, with these events. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { replayFile } from '../page/replay-file.ts';
import type { StageEvent } from '../stage/events.ts';

const bundle = fileURLToPath(new URL('../../../dist/lab/page/client/', import.meta.url));
/** More of them, as in `--all-orders`, are no replay: `events.jsonl` has them. */
const mostPlays = 4;

/** @returns nothing for an experiment without a play of choices */
export function replayFiles(events: readonly StageEvent[]): Readonly<Record<string, string>> {
  const plays = events.filter(({ kind }) => kind === 'play').length;
  if (plays === 0 || plays > mostPlays) return {};
  const read = (name: string) => readFileSync(bundle + name, 'utf8');
  const parts = { script: read('page.js'), style: read('page.css') };
  const shown = events.filter((event) => 'player' in event);
  return { 'replay.html': replayFile({ ...parts, events: shown }) };
}
