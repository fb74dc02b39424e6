/** The seconds of a run as columns for a chart, and as bars for the states of its servers. */
import { type FaultWords, faultWords } from '../../lab/report/fault-words.ts';
import {
  type Mark,
  refusedIn,
  type Second,
  spansOf,
  type TimelineRecord,
} from '../../lab/stage/seconds.ts';

type Column = readonly (number | null)[];

/** Each column has one value for each second; null when there was no load, or no answer. */
export interface Series {
  readonly seconds: readonly number[];
  readonly accepted: Column;
  readonly refused: Column;
  readonly unknown: Column;
  readonly p99Ms: Column;
  /** Of loads that ran at once. */
  readonly byLoad: readonly LoadSeries[];
  readonly byInstance: readonly { readonly name: string; readonly sold: Column }[];
  readonly bars: readonly Bar[];
  readonly endSecond: number;
}

interface LoadSeries {
  readonly name: string;
  readonly accepted: Column;
  readonly p99Ms: Column;
}

/** A load, or a server that did not answer. */
export interface Bar {
  readonly row: string;
  readonly state: 'load' | FaultWords['state'];
  readonly text: string;
  readonly fromSecond: number;
  readonly toSecond: number;
}

export function runSeries({ seconds, marks }: Pick<TimelineRecord, 'seconds' | 'marks'>): Series {
  const column = (value: (second: Second) => number | null): Column =>
    seconds.map((second) => (second.isLoaded ? value(second) : null));
  return {
    seconds: seconds.map(({ second }) => second),
    accepted: column(({ accepted }) => accepted),
    refused: column(refusedIn),
    unknown: column(({ unknown }) => unknown),
    p99Ms: column(({ p99Ms }) => p99Ms),
    byLoad: namesOfLoads(seconds).map((name) => ({
      name,
      accepted: column(({ byLoad }) => byLoad?.[name]?.accepted ?? null),
      p99Ms: column(({ byLoad }) => byLoad?.[name]?.p99Ms ?? null),
    })),
    byInstance: namesIn(seconds, ({ byInstance }) => byInstance)
      .sort()
      .map((name) => ({ name, sold: column(({ byInstance }) => byInstance[name] ?? 0) })),
    bars: barsOf(marks, seconds),
    endSecond: seconds.length,
  };
}

/** A load that follows another one begins in its last second: they are not beside each other. */
function namesOfLoads(seconds: readonly Second[]): string[] {
  const loaded = seconds.filter(({ isLoaded }) => isLoaded).length;
  const together = seconds.filter(({ byLoad }) => byLoad !== undefined).length;
  return together * 2 >= loaded && together > 0
    ? namesIn(seconds, ({ byLoad = {} }) => byLoad)
    : [];
}

const namesIn = (seconds: readonly Second[], counts: (second: Second) => object): string[] => [
  ...new Set(seconds.flatMap((second) => Object.keys(counts(second)))),
];

/** `slow redis-3 by 2000 ms` is in the row of redis-3. */
const serverIn = (row: string): string =>
  /\b(redis-[\w-]+|api-[\w-]+|zookeeper|rabbitmq|nginx|mariadb|mysql|database)\b/.exec(row)?.[0] ??
  row;

/** The loads first; then the servers, in the order of their first fault. */
function barsOf(marks: readonly Mark[], seconds: readonly Second[]): Bar[] {
  const endMs = seconds.length * 1_000;
  const atOnce = namesOfLoads(seconds);
  const loads = spansOf(marks, 'load', endMs).map(({ name, fromMs, toMs }) => ({
    ...{ row: atOnce.includes(name) ? name : 'load', state: 'load' as const, text: name },
    ...{ fromSecond: fromMs / 1_000, toSecond: toMs / 1_000 },
  }));
  const faults = spansOf(marks, 'fault', endMs).map(({ name, fromMs, toMs }) => {
    const { row, state } = faultWords(name);
    const text = state === 'other' ? name : state;
    return { row: serverIn(row), state, text, fromSecond: fromMs / 1_000, toSecond: toMs / 1_000 };
  });
  return [...loads, ...faults];
}
