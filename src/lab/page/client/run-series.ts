/** The seconds of a run as columns for a chart, and as bars for the states of its servers. */
import { faultWords } from '../../report/fault-words.ts';
import { type Mark, type Recorded, refusedIn, type Second, spansOf } from '../../stage/seconds.ts';

type Column = readonly (number | null)[];

/** Each column has one value for each second; null when there was no load, or no answer. */
export interface Series {
  readonly seconds: readonly number[];
  readonly accepted: Column;
  readonly refused: Column;
  readonly unknown: Column;
  readonly p99Ms: Column;
  readonly bars: readonly Bar[];
  readonly endSecond: number;
}

/** A load, or a server that did not answer. */
export interface Bar {
  readonly row: string;
  readonly state: 'load' | 'stopped' | 'paused' | 'other';
  readonly text: string;
  readonly fromSecond: number;
  readonly toSecond: number;
}

export function runSeries({ seconds, marks }: Pick<Recorded, 'seconds' | 'marks'>): Series {
  const column = (value: (second: Second) => number | null): Column =>
    seconds.map((second) => (second.isLoaded ? value(second) : null));
  return {
    seconds: seconds.map(({ second }) => second),
    accepted: column(({ accepted }) => accepted),
    refused: column(refusedIn),
    unknown: column(({ unknown }) => unknown),
    p99Ms: column(({ p99Ms }) => p99Ms),
    bars: barsOf(marks, seconds.length),
    endSecond: seconds.length,
  };
}

/** The loads first; then the servers, in the order of their first fault. */
function barsOf(marks: readonly Mark[], endSecond: number): Bar[] {
  const endMs = endSecond * 1_000;
  const loads = spansOf(marks, 'load', endMs).map(({ name, fromMs, toMs }) => ({
    ...{ row: 'load', state: 'load' as const, text: name },
    ...{ fromSecond: fromMs / 1_000, toSecond: toMs / 1_000 },
  }));
  const faults = spansOf(marks, 'fault', endMs).map(({ name, fromMs, toMs }) => {
    const { row, state } = faultWords(name);
    const text = state === 'other' ? name : state;
    return { row, state, text, fromSecond: fromMs / 1_000, toSecond: toMs / 1_000 };
  });
  return [...loads, ...faults];
}
