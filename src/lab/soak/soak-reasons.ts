/** The verdict of a soak, from its figures, its audits and what it has seen. Pure. */
import { type Audited, drillVerdict } from '../drills/audited.ts';
import {
  auditedReasons,
  type StormFigures,
  stormViolations,
  unsentTexts,
} from '../drills/storm-figures.ts';
import type { Judged } from '../stage/result.ts';
import { type Coverage, coverageGaps } from './coverage.ts';

/** @param isGated whether everything must be covered; a short soak cannot do that. */
export function soakReasons(
  figures: StormFigures,
  audits: readonly Audited[],
  coverage: Coverage,
  isGated: boolean,
): Pick<Judged, 'verdict' | 'reasons'> {
  const missing = isGated ? coverageGaps(coverage) : [];
  if (coverage.seen === 0) missing.push('no fault hit a request at its checkpoint');
  if (figures.accepted === 0) missing.push('nobody bought');
  missing.push(...unsentTexts(figures));
  const verdicts = audits.map(({ audit }) => audit.verdict);
  const broken = stormViolations(figures);
  return drillVerdict(verdicts, { broken, audited: auditedReasons(audits), missing });
}
