/** Figures of several rounds, what a benchmark expects of them, and when a target is missed. */

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { labError } from '../errors.ts';

export interface Target {
  readonly name: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly because: string;
}

export interface JudgedTarget extends Target {
  readonly measured: Spread | null;
  /** `unclear`: the median misses it, and a round meets it. `unknown`: too few rounds. */
  readonly answer: 'met' | 'unclear' | 'missed' | 'unknown';
}

/** What every benchmark says beside its figures. */
export interface BenchmarkResult {
  /** Of each measurement. */
  readonly seconds: number;
  readonly instances: number;
  readonly targets: readonly JudgedTarget[];
  /** Why the figures do not count; empty when each answer was the expected one. */
  readonly faults: readonly string[];
}

/** Of a closed model. */
export interface ClosedBenchmarkResult extends BenchmarkResult {
  /** Requests at once. */
  readonly connections: number;
  /** Of every measurement: the share of the machine's CPU time that other work had. */
  readonly otherWork: Spread | null;
}

/** With fewer there is no spread, and nothing that a miss could be compared with. */
export const roundsMin = 2;

/** Missed by more than the spread: no round meets it. */
export function judgeTarget(target: Target, measured: Spread | null, rounds: number): JudgedTarget {
  if (measured === null || rounds < roundsMin) return { ...target, measured, answer: 'unknown' };
  const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = target;
  const isMet = (value: number) => value >= atLeast && value <= atMost;
  if (isMet(measured.median)) return { ...target, measured, answer: 'met' };
  const anyMeets = isMet(measured.least) || isMet(measured.most);
  return { ...target, measured, answer: anyMeets ? 'unclear' : 'missed' };
}

/** Of a run that `--gate` compares with: its figures by their names. */
export type RecordedFigures = ReadonlyMap<string, Spread>;

/** The figures that fell by more than the spread of both runs: no round is as good as the worst. */
export const fallen = (targets: readonly JudgedTarget[], recorded: RecordedFigures): string[] =>
  targets.flatMap(({ name, atMost, measured }) => {
    const before = recorded.get(name);
    if (!before || !measured) return [];
    const isWorse =
      atMost === undefined ? measured.most < before.least : measured.least > before.most;
    return isWorse
      ? [`${name}: ${textOf(measured)}, and the recorded run had ${textOf(before)}`]
      : [];
  });

const textOf = ({ median, least, most }: Spread): string =>
  `${median.toFixed(2)} (${least.toFixed(2)}..${most.toFixed(2)})`;

/** Its median, and how far the rounds are apart. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** @throws RangeError without a value, and with one that is no number. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0 || !values.every(Number.isFinite))
    throw new RangeError(`no spread of [${values.join(', ')}]`);
  const sorted = values.toSorted((one, other) => one - other);
  const at = (place: number) => sorted[place] as number;
  const middle = Math.floor(sorted.length / 2);
  const median = sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
  return { median, least: at(0), most: at(sorted.length - 1) };
}

/** Null as soon as one value is unknown, or no number. */
export function spreadOfKnown(values: readonly (number | null)[]): Spread | null {
  const known = values.filter((value): value is number => Number.isFinite(value));
  return known.length === values.length && known.length > 0 ? spreadOf(known) : null;
}

const Recorded = z.object({
  targets: z.array(
    z.object({
      name: z.string(),
      measured: z.object({ median: z.number(), least: z.number(), most: z.number() }).nullable(),
    }),
  ),
});

/** Of the `bench.json` in the folder of that run. @throws NO_RECORDED_BENCH */
export function readRecordedFigures(file: string): RecordedFigures {
  try {
    const { targets } = Recorded.parse(JSON.parse(readFileSync(file, 'utf8')));
    return new Map(targets.flatMap(({ name, measured }) => (measured ? [[name, measured]] : [])));
  } catch (cause) {
    throw labError('NO_RECORDED_BENCH', file).causedBy(cause);
  }
}
