/** What a benchmark expects of its figures, and when a target is missed. */
import type { Spread } from './spread.ts';

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
