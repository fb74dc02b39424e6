/** Experiments as files that need no server: the page of the lab, with their events. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Language } from '../../texts/texts.ts';
import { eventsOfRace, type RaceResult } from '../play/race-verdict.ts';
import type { EventContent, ReportAbout, ScoredCell, StageEvent } from '../stage/events.ts';
import { replayFile } from './replay-file.ts';

const bundle = fileURLToPath(new URL('../../../dist/page/client/page.packed', import.meta.url));
/** More of them, as in `--all-orders`, are no replay: `events.jsonl` has them. */
const playsMax = 4;

/** @returns nothing for an experiment without a play of choices */
export function replayFiles(events: readonly StageEvent[]): Readonly<Record<string, string>> {
  const plays = events.filter(({ kind }) => kind === 'play').length;
  if (plays === 0 || plays > playsMax) return {};
  return { 'replay.html': fileOf(events.filter((event) => 'player' in event)) };
}

export interface ReplaySource {
  readonly about: ReportAbout;
  readonly language?: Language | undefined;
  /** Of a scoreboard. */
  readonly cells?: readonly ScoredCell[];
}

/** The report of an experiment: what happened, and the verdict. Lanes that moved are no part. */
export function reportFile(
  events: readonly StageEvent[],
  { about: report, language, cells = [] }: ReplaySource,
): string {
  const shown = events.filter((event) => !('player' in event));
  const at = shown.at(-1)?.at ?? '0';
  const last: EventContent[] = [
    ...cells.map((cell) => ({ kind: 'cell', cell }) as const),
    { kind: 'over', report },
  ];
  const from = (shown.at(-1)?.number ?? 0) + 1;
  const numbered = last.map((event, index) => ({ ...event, number: from + index, at }));
  return fileOf([...shown, ...numbered], language);
}

/** Every race in one file: each has its link, `#race-dead-holder-redis-atomic`. */
export const racesPage = (races: readonly RaceResult[], language: Language): string =>
  fileOf(races.flatMap(eventsOfRace), language);

const fileOf = (events: readonly StageEvent[], language?: Language): string =>
  replayFile({ packed: readFileSync(bundle, 'utf8'), events, language });
