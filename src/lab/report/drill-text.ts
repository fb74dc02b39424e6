/** A drill's result for a terminal. */
import type { DrillResult } from '../drills/drill.ts';
import { wrap } from './wrap.ts';

export function drillText({
  verdict,
  reasons,
  figures,
  faults,
}: Omit<DrillResult, 'facts'>): string {
  const rows = Object.entries(figures).map(([name, value]) => `  ${words(name)}: ${count(value)}`);
  const injected = Object.entries(faults).map(([name, times]) => `${times} × ${name}`);
  return [
    ...rows,
    wrap(`  faults: ${injected.join(', ') || 'none'}`, 79, '    '),
    '',
    `verdict: ${verdict}`,
    ...reasons.slice(0, mostReasons).map((reason) => wrap(`  ${reason}`, 79, '    ')),
    ...(reasons.length > mostReasons ? [`  and ${reasons.length - mostReasons} more`] : []),
  ].join('\n');
}

const mostReasons = 10;

/** `longestGapMs` is shown as `longest gap ms`. */
const words = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const count = (value: number): string => Math.round(value).toLocaleString('en-US');
