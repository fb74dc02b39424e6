/** What a test expects of a drill. How soon something happens is a figure: no test judges it. */
import { expect } from 'vitest';
import type { DrillResult } from '../../src/lab/drills/drill.ts';
import { drillText } from '../../src/lab/report/drill-text.ts';

/** On a busy machine these come later than the drill allows. */
const late = [
  /: no sale for \d+ ms, the limit/,
  /: recorded after \d+ ms, the limit/,
  /: the first sale was \d+ ms after the servers/,
];
const isLate = (reason: string): boolean => late.some((each) => each.test(reason));

export function expectHeld({ facts: _, ...result }: DrillResult): void {
  const text = drillText(result);
  expect(
    result.reasons.filter((reason) => !isLate(reason)),
    text,
  ).toEqual([]);
  expect(result.verdict, text).toBe(result.reasons.length > 0 ? 'violated' : 'held');
}
