/** The figures and the verdict of a k6 run, from its exit code and its summary. Pure. */

import type { Judged } from '../stage/result.ts';
import type { K6Run } from '../workload/k6.ts';
import { type Audited, drillVerdict, findingsOf, notHeldTexts } from './audited.ts';

/** k6: a threshold was not met. */
const thresholdsFailed = 99;
const couldNotTell = 2;

const numberIn = (summary: string, pattern: RegExp): number =>
  Number(pattern.exec(summary)?.[1] ?? 0);

/** The voucher that k6 sold; null when k6 could not begin. */
export const voucherOf = ({ summary }: K6Run): string | null =>
  /^failover\.js on .*, voucher (\d+)$/m.exec(summary)?.[1] ?? null;

export const k6Figures = ({ summary }: K6Run) => ({
  attempts: numberIn(summary, /^CENSUS +(\d+) attempts/m),
  accepted: numberIn(summary, /^ {2}accepted +(\d+)$/m),
  unknown: numberIn(summary, /^ {2}unknown +(\d+)$/m),
  droppedIterations: numberIn(summary, /(\d+) dropped iterations/),
  wholeSecondsWithoutSale: numberIn(summary, /(\d+) of \d+ seconds without a sale/),
  longestGapWholeSeconds: numberIn(summary, /longest gap (\d+) s/),
});

const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');

/**
 * A threshold that k6 could not measure has a `?`, although it counts as not met.
 * @param missed the faults that were not played, or that nobody noticed.
 */
export function k6Verdict(
  run: K6Run,
  audits: readonly Audited[],
  missed: readonly string[],
): Pick<Judged, 'verdict' | 'reasons'> {
  const { exitCode, summary, errors } = run;
  const marked = (mark: string) =>
    summary
      .split('\n')
      .filter((line) => line.startsWith(`  ${mark} `))
      .map((line) => `k6: ${line.trim()}`);
  const broken = marked('✗');
  const missing = marked('?');
  if (exitCode === thresholdsFailed && broken.length + missing.length === 0)
    missing.push('k6: a threshold was not met, and the summary does not say which');
  const isExplained = exitCode === couldNotTell && missing.length > 0;
  if (exitCode !== 0 && exitCode !== thresholdsFailed && !isExplained)
    missing.push(`k6 ended with exit code ${exitCode ?? 'none'}: ${oneLine(errors)}`);
  else if (audits.length === 0) missing.push('k6 named no voucher, so none was audited');
  else if (k6Figures(run).accepted === 0) missing.push('nobody bought');
  missing.push(...missed);
  const audited = notHeldTexts(audits.flatMap(findingsOf));
  const verdicts = audits.map(({ audit }) => audit.verdict);
  return drillVerdict(verdicts, { broken, audited, missing });
}
