import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { NoRecordedRace, UnknownRace, UnknownRung } from '../errors.ts';
import type { Lab } from '../lab/lab.ts';
import { withLab } from '../lab/session.ts';
import { isRungName, rungNames } from '../ladder.ts';
import type { PlayedRace, RaceResult } from '../races/judge.ts';
import { playRace, raceSettings } from '../races/play.ts';
import { type RaceName, raceNames, schedules } from '../races/schedules.ts';
import { factsFiles, withoutFacts } from '../report/facts-files.ts';
import { writeFolder } from '../report/folder.ts';
import { racePage } from '../report/race-page.ts';
import { raceText } from '../report/race-text.ts';
import { withConnections } from './lab-connections.ts';
import { type Place, type Reporting, report, tell } from './place.ts';

interface Options extends Reporting {
  readonly rung?: string;
  readonly times: number;
}

export async function race(
  { labFolder, runsFolder }: Place,
  name: string,
  { json, rung, times }: Options,
): Promise<void> {
  if (!isRaceName(name)) throw new UnknownRace(name, raceNames);
  const on = rung ?? schedules[name].rung;
  if (!isRungName(on)) throw new UnknownRung(on, rungNames);
  const played = await withLab(labFolder, tell, (lab, signal) =>
    playTimes(times, signal, () => raceOn(lab, name, on)),
  );
  const shown = played.find(({ asClaimed }) => !asClaimed) ?? played[0];
  if (!shown) throw new RangeError('a race is played once at least');
  const count = {
    times,
    violated: played.filter(({ verdict }) => verdict === 'violated').length,
    asClaimed: played.filter(({ asClaimed }) => asClaimed).length,
  };
  const files = { 'race.json': withoutFacts(shown), 'race.html': racePage(shown), ...factsFiles([shown]) };
  const folder = writeFolder(runsFolder, `race-${name}-${on}`, files);
  const counted = `played ${times} times: ${count.violated} violated, ${count.asClaimed} as claimed\n`;
  const where = `picture: ${folder}/race.html\nagain, without servers: npx lockstep replay ${folder}/race.json`;
  report(json, { ...withoutFacts(shown), count }, () =>
    [raceText(shown), '', ...(times > 1 ? [counted] : []), where].join('\n'),
  );
  process.exitCode = played.some(({ verdict }) => verdict === 'unknown')
    ? 2
    : Number(count.asClaimed < times);
}

async function playTimes(
  times: number,
  signal: AbortSignal,
  play: () => Promise<PlayedRace>,
): Promise<PlayedRace[]> {
  const played: PlayedRace[] = [];
  while (played.length < times) {
    signal.throwIfAborted();
    played.push(await play());
    if (times > 1) tell(`${played.length} of ${times}: ${played.at(-1)?.verdict}`);
  }
  return played;
}

/** The lab as the race needs it: so many instances, and short leases. */
export async function raceOn(lab: Lab, name: RaceName, rung: RaceResult['rung']): Promise<PlayedRace> {
  await lab.ensure({ instances: schedules[name].instances, balancer: 'nginx', settings: raceSettings });
  return withConnections(lab, (connections) => playRace(name, rung, lab, connections));
}

export function replay(file: string, { json }: Reporting): void {
  const result = readRace(file);
  report(json, result, () => raceText(result));
}

/** Enough to know a race from another file. */
const Recorded = z.object({
  race: z.string(),
  rung: z.string(),
  verdict: z.enum(['held', 'violated', 'unknown']),
  steps: z.array(z.object({ lane: z.string(), says: z.string(), at: z.string() })).min(1),
});

function readRace(file: string): RaceResult {
  try {
    const recorded: unknown = JSON.parse(
      readFileSync(statSync(file).isDirectory() ? join(file, 'race.json') : file, 'utf8'),
    );
    if (!Recorded.safeParse(recorded).success) throw new Error('its fields are not those of a race');
    return recorded as RaceResult;
  } catch (cause) {
    throw new NoRecordedRace(file, cause);
  }
}

const isRaceName = (name: string): name is RaceName => Object.hasOwn(schedules, name);
