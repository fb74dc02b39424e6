/** The drills that the page can begin: put here by the build (scripts/page.mjs). */
import type { Bilingual } from '../../lab/stage/result.ts';

export interface DrillRow {
  readonly name: string;
  readonly about: Bilingual;
}

declare const DRILL_ROWS: readonly DrillRow[];
export const drillRows: readonly DrillRow[] = DRILL_ROWS;
