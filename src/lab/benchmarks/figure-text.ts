/** How the figures of all benchmarks are written, and the paragraphs that all reports end with. */
import type { Table } from '../stage/result.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import type { Spread } from './spread.ts';
import type { BenchmarkResult, ClosedBenchmarkResult, JudgedTarget } from './targets.ts';

/** More other work than this makes every figure worse than the service is. */
const otherWorkMax = 0.05;
const notQuiet = 'THE MACHINE WAS NOT QUIET: the figures are worse than the service is';

export const medianText = (spread: Spread | null, digits = 0): string =>
  spread === null ? '?' : spread.median.toFixed(digits);

export const rangeText = (spread: Spread | null, digits = 0): string =>
  spread === null ? '?' : `${spread.least.toFixed(digits)}..${spread.most.toFixed(digits)}`;

/** The sum of the medians; `?` when one of them is unknown. */
export function sumText(spreads: readonly (Spread | null)[], digits = 0): string {
  const sum = spreads.reduce((total, spread) => total + (spread?.median ?? Number.NaN), 0);
  return Number.isNaN(sum) ? '?' : sum.toFixed(digits);
}

export const roundsText = ({
  rounds,
  seconds,
  connections,
  instances,
  otherWork,
}: Omit<ClosedBenchmarkResult & { readonly rounds: number }, 'targets' | 'faults'>): string =>
  `Median (and least..most)
of ${rounds} rounds of ${seconds} s in turns, wrk with ${connections} connections,
${instances} instances behind one nginx, order workers running
${otherWorkText(otherWork)}`;

export function otherWorkText(share: Spread | null): string {
  if (share === null) return 'other work on this machine: unknown';
  const percent = (part: number) => `${(100 * part).toFixed(0)}%`;
  const { median, least, most } = share;
  const advice = median <= otherWorkMax ? '' : `\n${notQuiet}`;
  const range = least === most ? '' : ` (${percent(least)}..${percent(most)})`;
  return `other work on this machine: ${percent(median)} of its CPU time${range}${advice}`;
}

const marks = { met: '✓', unclear: '~', missed: '✗', unknown: '·' } as const;

const targetColumns: readonly Column<JudgedTarget>[] = [
  ['  target', ({ name, answer }) => `${marks[answer]} ${name}`],
  ['', ({ atLeast, atMost }) => (atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`)],
  ['median', ({ measured }) => medianText(measured, 2)],
  ['least..most', ({ measured }) => (measured ? rangeText(measured, 2) : '')],
];

const legend = {
  [marks.met]: 'met',
  [marks.unclear]: 'missed by less than the spread',
  [marks.missed]: 'missed',
  [marks.unknown]: 'not judged: one round',
};

/** Nothing where a benchmark has no targets. */
export const targetsTable = (targets: readonly JudgedTarget[]): Table[] =>
  targets.length > 0 ? [tableOf('', targets, targetColumns, { legend })] : [];

export const faultsText = ({ faults }: Pick<BenchmarkResult, 'faults'>): string =>
  faults.length > 0
    ? `THE FIGURES DO NOT COUNT:\n${faults.map((fault) => `- ${fault}`).join('\n')}`
    : 'Every answer was the expected one, and every accepted order was recorded.';

/** A paragraph of lines; nothing where there are none. */
export const paragraph = (lines: readonly string[]): Block[] =>
  lines.length > 0 ? [lines.join('\n')] : [];
