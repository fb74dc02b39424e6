/** A cell of the scoreboard: what was seen when a rung met a fault, and nothing else. Pure. */

import { audit } from '../../service/audit/audit.ts';
import { evidenceOf } from '../../service/audit/check.ts';
import { mysqlRefusals, refusalEvidence } from '../../service/audit/sections.ts';
import type { CheckName, Verdict } from '../../service/domain.ts';
import { evidenceTexts, findingTexts, type RecordedEvidence } from '../../texts/evidence.ts';
import type { Bilingual } from '../../texts/texts.ts';
import type { SaleAudit } from '../drills/audited.ts';
import {
  countSales,
  expected,
  meanwhile,
  resumedAfterMs,
  type SeenOutage,
  withoutSalesMs,
  wrongIn,
} from '../drills/expectations.ts';
import { judgedFindings, type LockOutage } from '../drills/lock-outages.ts';
import { isAboutData, type PlayedRace } from '../play/race-verdict.ts';
import { sum } from '../stage/counts.ts';
import { evidenceIn, joinedTexts } from '../stage/result.ts';

export interface BrokenPromise {
  readonly check: CheckName;
  readonly cases: number;
}

/** What an outage under load cost. */
export interface OutageCost {
  readonly soldOn: boolean;
  readonly withoutSalesMs: number;
  /** null: nothing was sold again. */
  readonly resumedAfterMs: number | null;
  /** Locks that nobody holds afterwards; null: not in Redis. Older runs did not count them. */
  readonly leftLocks?: number | null;
}

/** A fault that was played once on a rung. */
export interface CellPlay extends RecordedEvidence {
  readonly verdict: Verdict;
  readonly asClaimed: boolean;
  readonly broken: readonly BrokenPromise[];
  readonly cost?: OutageCost;
}

export interface Cell {
  readonly rung: string;
  readonly fault: string;
  /** At least one. */
  readonly plays: readonly CellPlay[];
}

/**
 * What a cell shows, the worst first: data is wrong; two owners at once, but the data is right; a
 * free lock that cannot be acquired; not to be told; nothing broke.
 */
export const marks = {
  wrong: '✗',
  overlap: '∥',
  stuck: '⊘',
  unknown: '?',
  held: '✓',
} as const;
export type Outcome = keyof typeof marks;
const outcomes = Object.keys(marks) as Outcome[];

const outcomeOfCheck = (check: CheckName): Outcome => {
  if (isAboutData(check)) return 'wrong';
  return check === 'progress' ? 'stuck' : 'overlap';
};

export function outcomeOfPlay({ verdict, broken }: Pick<CellPlay, 'verdict' | 'broken'>): Outcome {
  const seen = broken.map(({ check }) => outcomeOfCheck(check));
  const worst = outcomes.find((each) => seen.includes(each));
  return worst ?? (verdict === 'held' ? 'held' : 'unknown');
}

/** The worst of its plays. */
export const worstOutcome = ({ plays }: Cell): Outcome =>
  outcomes.find((each) => plays.some((play) => outcomeOfPlay(play) === each)) ?? 'unknown';

/** For a file: the cell with what it shows, and whether that agrees with the ladder. */
export const judgedCell = (cell: Cell) => ({
  rung: cell.rung,
  fault: cell.fault,
  outcome: worstOutcome(cell),
  asClaimed: agreement(cell),
  plays: cell.plays,
});

/** The most cases of its outcome in one play; 0 where nothing broke. */
export function casesOf(cell: Cell): number {
  const outcome = worstOutcome(cell);
  const counts = cell.plays.map(({ broken }) =>
    sum(broken.map(({ check, cases }) => (outcomeOfCheck(check) === outcome ? cases : 0))),
  );
  return Math.max(0, ...counts);
}

/** Whether the rung did what its row claims; `unknown` when a play could not tell. */
export function agreement({ plays }: Pick<Cell, 'plays'>): 'yes' | 'no' | 'unknown' {
  if (plays.some(({ verdict, asClaimed }) => verdict !== 'unknown' && !asClaimed)) return 'no';
  return plays.length === 0 || plays.some(({ verdict }) => verdict === 'unknown')
    ? 'unknown'
    : 'yes';
}

export function playOfRace(played: PlayedRace): CellPlay {
  const { verdict, asClaimed, facts } = played;
  const findings = audit(facts).findings.filter((each) => each.verdict === 'violated');
  const broken = findings.map(({ check, count }) => ({ check, cases: count }));
  const refused = evidenceTexts(...refusalEvidence(mysqlRefusals(facts)));
  const doubt = { en: played.evidence, zh: evidenceIn('zh', played) };
  const doubts = verdict === 'unknown' || !asClaimed ? [doubt] : [];
  const said = [...doubts, ...findings.map(findingTexts), refused];
  return { verdict, asClaimed, broken, ...recorded(said) };
}

function recorded(parts: readonly Bilingual[]): Required<RecordedEvidence> {
  const { en, zh } = joinedTexts(parts.filter((each) => each.en !== ''));
  return { evidence: en, evidenceZh: zh };
}

/** The audit is of the whole sale, so it counts for each of its outages. */
export function playOfOutage(outage: SeenOutage<LockOutage>, audited: SaleAudit): CellPlay {
  const findings = judgedFindings(audited).map(({ finding }) => finding);
  const violated = findings.filter((each) => each.verdict === 'violated');
  const doubts = findings.filter((each) => each.verdict === 'unknown');
  const { expects, needs = [] } = outage.row;
  const wrong = (wanted: typeof expects) => wrongIn(outage, wanted, audited.facts);
  const surprises = wrong(expects);
  const claimed = expects.includes(expected.noLocksLeft) ? [] : wrong([expected.noLocksLeft]);
  const unseen = wrong([expected.boughtBefore, ...needs]);
  const missing = [...unseen, ...doubts.map(findingTexts)];
  const isBroken = violated.length > 0 || surprises.length > 0;
  const cost = {
    soldOn: countSales(meanwhile(outage)) > 0,
    withoutSalesMs: withoutSalesMs(outage),
    resumedAfterMs: resumedAfterMs(outage),
    leftLocks: outage.leftLocks,
  };
  return {
    verdict: isBroken ? 'violated' : missing.length > 0 ? 'unknown' : 'held',
    asClaimed: !isBroken,
    broken: violated.map(({ check, count }) => ({ check, cases: count })),
    ...recorded([
      ...surprises,
      evidenceTexts(...violated.flatMap(evidenceOf)),
      ...claimed,
      ...missing,
    ]),
    cost,
  };
}

/** A play that ended with an error could not tell. */
export const playOfError = ({ message }: Error): CellPlay =>
  unfinishedPlay({ en: message, zh: message });

export const unfinishedPlay = (because: Bilingual): CellPlay => ({
  verdict: 'unknown',
  asClaimed: false,
  broken: [],
  ...recorded([because]),
});
