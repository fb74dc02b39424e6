/** Plays and races as a file that replays anywhere: the page of the lab, with their events. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Language } from '../../ladder/texts/texts.ts';
import { eventsOfRace } from '../races/race-events.ts';
import type { RaceResult } from '../races/race-verdict.ts';
import type { StageEvent } from '../stage/events.ts';
import { replayFile } from './replay-file.ts';

const bundle = fileURLToPath(new URL('../../../dist/lab/page/client/', import.meta.url));
/** More of them, as in `--all-orders`, are no replay: `events.jsonl` has them. */
const mostPlays = 4;

const ofRace: readonly StageEvent['kind'][] = ['race', 'step', 'race-judged'];

/** @returns nothing for an experiment without a play of choices, and without a race */
export function replayFiles(events: readonly StageEvent[]): Readonly<Record<string, string>> {
  const plays = events.filter(({ kind }) => kind === 'play' || kind === 'race').length;
  if (plays === 0 || plays > mostPlays) return {};
  const isOfPlays = events.some(({ kind }) => kind === 'play');
  const isShown = (event: StageEvent) =>
    isOfPlays ? 'player' in event : ofRace.includes(event.kind);
  return { 'replay.html': fileOf(events.filter(isShown)) };
}

/** Every race in one file: each has its link, `#race-dead-holder-redis-atomic`. */
export const racesPage = (races: readonly RaceResult[], language: Language): string =>
  fileOf(races.flatMap(eventsOfRace), language);

function fileOf(events: readonly StageEvent[], language?: Language): string {
  const read = (name: string) => readFileSync(bundle + name, 'utf8');
  return replayFile({ script: read('page.js'), style: read('page.css'), events, language });
}
