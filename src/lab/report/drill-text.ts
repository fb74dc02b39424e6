/** A drill's result for a terminal. */
import type { DrillResult, Phase } from '../drills/drill.ts';
import { plainTable } from './tables.ts';
import { wrap } from './wrap.ts';

export function drillText({
  verdict,
  reasons,
  figures,
  faults,
  phases = [],
}: Omit<DrillResult, 'facts'>): string {
  const rows = Object.entries(figures).map(([name, value]) => `  ${words(name)}: ${count(value)}`);
  const injected = Object.entries(faults).map(([name, times]) => `${times} × ${name}`);
  return [
    ...(phases.length > 0 ? [phaseTable(phases), ''] : []),
    ...rows,
    wrap(`  faults: ${injected.join(', ') || 'none'}`, 79, '    '),
    '',
    `verdict: ${verdict}`,
    ...reasons.slice(0, mostReasons).map((reason) => wrap(`  ${reason}`, 79, '    ')),
    ...(reasons.length > mostReasons ? [`  and ${reasons.length - mostReasons} more`] : []),
  ].join('\n');
}

/** `away`: refused because the lock service was not available. `no sale`: the longest gap. */
function phaseTable(phases: readonly Phase[]): string {
  const head = ['rung', 'phase', 'sold', 'refused', 'away', '?', 'p99 ms', 'no sale ms', 'back ms'];
  const rows = phases.map((each) => {
    const { rung, phase, accepted, refusedBecause, unknown, p99Ms } = each;
    const refused = Object.values(refusedBecause).reduce((sum, count) => sum + count, 0);
    const away = refusedBecause['lock-service-unavailable'] ?? 0;
    const { withoutSalesMs = '', resumedAfterMs = '' } = each;
    const counts = [accepted, refused, away, unknown, p99Ms, withoutSalesMs];
    return [rung, phase, ...counts.map(String), String(resumedAfterMs ?? 'never')];
  });
  return plainTable(head, rows, 2);
}

const mostReasons = 10;

/** `longestGapMs` is shown as `longest gap ms`. */
const words = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const count = (value: number): string => Math.round(value).toLocaleString('en-US');
