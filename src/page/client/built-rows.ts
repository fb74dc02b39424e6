/** The ladder, the drills, the published scoreboard: put here by the build (scripts/page.mjs). */
import type { RaceChoices, ServerFault } from '../../lab/play/letters.ts';
import type { SaleKind } from '../../lab/play/set-up.ts';
import type { Bilingual } from '../../lab/stage/result.ts';
import type { CheckName } from '../../service/domain.ts';
import type { Circumstance, Reason, Rung } from '../../service/ladder/rung.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import type { Language } from '../../texts/texts.ts';

/** Lines of the real source; `mark` is the one at which a lane stands. */
export interface Source {
  readonly file: string;
  readonly line: number;
  readonly mark: number;
  readonly lines: readonly string[];
}

export interface FamousRace {
  readonly name: string;
  /** Where the same steps do no harm; every rung holds it where there is none. */
  readonly next?: RungName;
  /** The same race by hand; missing where it needs a fault that is no choice. */
  readonly byHand?: RaceChoices;
  readonly title: Readonly<Record<Language, string>>;
}

export interface LadderRow {
  readonly name: RungName;
  readonly chapter: Rung['chapter'];
  /** By requests at once, in two processes. */
  readonly breaks: readonly { readonly check: CheckName; readonly because: Reason }[];
  /** By a fault at the right moment. */
  readonly faults: readonly {
    readonly under: Circumstance;
    readonly check: CheckName;
    readonly because: Reason;
  }[];
  /** Choices can break what its buyers are asked to break. */
  readonly canAim: boolean;
  readonly hasLock: boolean;
  readonly sale: SaleKind;
  readonly lockServers: readonly string[];
  /** What a choice can break in the servers. */
  readonly serverFaults: readonly ServerFault[];
  /** So many of them must grant it. */
  readonly lockNeeded: number;
  /** The famous races on it. */
  readonly races: readonly FamousRace[];
  readonly salesPerSecond?: number;
  /** By the checkpoint. */
  readonly sources: Readonly<Record<string, Source | null>>;
  /** Of the steps of two buyers, as docs/races.md counts them. */
  readonly orders?: { readonly orders: number; readonly broken: number };
}

export interface DrillRow {
  readonly name: string;
  readonly about: Bilingual;
}

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

declare const BUILT: {
  readonly ladderRows: readonly LadderRow[];
  readonly drillRows: readonly DrillRow[];
  readonly scoreTable: ScoreTable;
};
export const { ladderRows, drillRows, scoreTable } = BUILT;

export const ladderRow = (name: string): LadderRow | undefined =>
  ladderRows.find((row) => row.name === name);

/** The rung whose bug this race plays. */
export const rowOfRace = (race: string): LadderRow | undefined =>
  ladderRows.find(({ races }) => races.some(({ name }) => name === race));

export const famousRace = (name: string): FamousRace | undefined =>
  rowOfRace(name)?.races.find((race) => race.name === name);

export const nextRow = (name: string): LadderRow | undefined =>
  ladderRows[1 + ladderRows.findIndex((row) => row.name === name)];
