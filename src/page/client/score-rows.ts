/** The scoreboard that docs/scoreboard.md has: put here by the build (scripts/page.mjs). */
import type { Circumstance } from '../../service/ladder/rung.ts';
import type { RungName } from '../../service/ladder/rungs.ts';

export interface ScoreRow {
  readonly rung: RungName;
  /** By the fault, as `faults`: `✗1`, and the race that plays it; null where it was not played. */
  readonly safety: readonly ({ readonly mark: string; readonly race: string } | null)[];
  /** By the outage, as `outages`: `✓ 0.1 +0.0`; empty where it was not played. */
  readonly outages: readonly string[];
}

export interface ScoreTable {
  readonly faults: readonly Circumstance[];
  readonly outages: readonly string[];
  readonly rows: readonly ScoreRow[];
}

declare const SCOREBOARD: ScoreTable;
export const scoreTable: ScoreTable = SCOREBOARD;
