/** A race as files: what was played, to replay without servers, and a picture of its lanes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RaceResult } from '../races/judge.ts';
import { racePage } from './race-page.ts';

/** @returns the folder's path. */
export function writeRaceFolder(root: string, result: RaceResult): string {
  const time = new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '');
  const folder = join(root, `${time}-race-${result.race}-${result.rung}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'race.json'), `${JSON.stringify(result, null, 2)}\n`);
  writeFileSync(join(folder, 'race.html'), racePage(result));
  return folder;
}
