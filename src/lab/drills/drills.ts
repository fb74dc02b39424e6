/** The table of drills: a new one is a file and a row. */
import type { Drill } from './drill.ts';
import { killStorm } from './kill-storm.ts';
import { stopMasters } from './stop-masters.ts';

export const drills = {
  'kill-storm': killStorm,
  'stop-masters': stopMasters,
} as const satisfies Record<string, Drill>;
export type DrillName = keyof typeof drills;
export const drillNames = Object.keys(drills) as DrillName[];
