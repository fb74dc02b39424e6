/** The drills that the page can begin: put here by the build (scripts/page.mjs). */
import type { Said } from '../../lab/stage/result.ts';

export interface DrillRow {
  readonly name: string;
  readonly about: Said;
}

declare const DRILL_ROWS: readonly DrillRow[];
export const drillRows: readonly DrillRow[] = DRILL_ROWS;
