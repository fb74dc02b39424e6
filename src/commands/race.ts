import { readFileSync } from 'node:fs';
import { NoRecordedRace, UnknownRace, UnknownRung } from '../errors.ts';
import type { Lab } from '../lab/lab.ts';
import { withLab } from '../lab/session.ts';
import { isRungName, rungNames } from '../ladder.ts';
import type { RaceResult } from '../races/judge.ts';
import { playRace, raceSettings } from '../races/play.ts';
import { type RaceName, raceNames, schedules } from '../races/schedules.ts';
import { writeFolder } from '../report/folder.ts';
import { racePage } from '../report/race-page.ts';
import { raceText } from '../report/race-text.ts';
import { withConnections } from './lab-connections.ts';
import { type Place, type Reporting, report, tell } from './place.ts';

interface Options extends Reporting {
  readonly rung?: string;
}

export async function race(
  { labFolder, runsFolder }: Place,
  name: string,
  { json, rung }: Options,
): Promise<void> {
  if (!isRaceName(name)) throw new UnknownRace(name, raceNames);
  const on = rung ?? schedules[name].rung;
  if (!isRungName(on)) throw new UnknownRung(on, rungNames);
  const result = await withLab(labFolder, tell, (lab) => raceOn(lab, name, on));
  const files = { 'race.json': result, 'race.html': racePage(result) };
  const folder = writeFolder(runsFolder, `race-${result.race}-${result.rung}`, files);
  report(
    json,
    result,
    () =>
      `${raceText(result)}\n\npicture: ${folder}/race.html\nagain, without servers: npx lockstep replay ${folder}/race.json`,
  );
  process.exitCode = result.verdict === 'unknown' ? 2 : Number(!result.asClaimed);
}

/** The lab as the race needs it: so many instances, and short leases. */
export async function raceOn(lab: Lab, name: RaceName, rung: RaceResult['rung']): Promise<RaceResult> {
  await lab.ensure({ instances: schedules[name].instances, balancer: 'nginx', settings: raceSettings });
  return withConnections(lab, (connections) => playRace(name, rung, lab, connections));
}

export function replay(file: string, { json }: Reporting): void {
  const result = readRace(file);
  report(json, result, () => raceText(result));
}

function readRace(file: string): RaceResult {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as RaceResult;
  } catch (cause) {
    throw new NoRecordedRace(file, cause);
  }
}

const isRaceName = (name: string): name is RaceName => Object.hasOwn(schedules, name);
