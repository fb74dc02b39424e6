/** What clients saw in each second of an experiment, and when loads and faults began and ended. */
import { sum } from './counts.ts';

/** The start or the end of a load or of a fault. */
export interface Mark {
  readonly atMs: number;
  readonly of: 'load' | 'fault';
  readonly isStart: boolean;
  /** Of the fault: `kill redis-main`. */
  readonly name: string;
}

/** What one of several loads got in one second. */
export interface LoadSecond {
  readonly accepted: number;
  readonly p99Ms: number | null;
}

/** What was answered in one second. */
export interface Second {
  readonly second: number;
  /** False between two loads, when nobody asks. */
  readonly isLoaded: boolean;
  readonly accepted: number;
  readonly refusedBecause: Readonly<Record<string, number>>;
  readonly unknown: number;
  /** null when no answer came. */
  readonly p99Ms: number | null;
  /** The sales of each instance, by its name. */
  readonly byInstance: Readonly<Record<string, number>>;
  /** By its name; missing unless several loads ran at once. */
  readonly byLoad?: Readonly<Record<string, LoadSecond>>;
}

/** All of it, for a report. */
export interface TimelineRecord {
  /** From the beginning to the last mark or answer, without a gap. */
  readonly seconds: readonly Second[];
  readonly marks: readonly Mark[];
  readonly loads: readonly LoadCost[];
}

/** What the buyers of one load were answered, and how long none of them could buy. */
export interface LoadCost {
  /** Its name; empty where purchases have none. */
  readonly load: string;
  readonly accepted: number;
  readonly refused: number;
  readonly unknown: number;
  /** The longest time without a sale while somebody wanted to buy; null when nobody did. */
  readonly withoutSale: { readonly fromMs: number; readonly toMs: number } | null;
}

/** A mark and its end. */
export interface Span {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export const refusedIn = ({ refusedBecause }: Pick<Second, 'refusedBecause'>): number =>
  sum(Object.values(refusedBecause));

export const secondOf = (ms: number): number => Math.floor(ms / 1_000);

/** Each start with the next end of its name, or with `endMs`, in the order of the starts. */
export function spansOf(marks: readonly Mark[], of: Mark['of'], endMs: number): Span[] {
  const ends = marks.filter((mark) => mark.of === of && !mark.isStart);
  return marks
    .filter((mark) => mark.of === of && mark.isStart)
    .map(({ name, atMs: fromMs }) => {
      const own = ends.findIndex((end) => end.name === name && end.atMs >= fromMs);
      const [end] = own < 0 ? [] : ends.splice(own, 1);
      return { name, fromMs, toMs: end?.atMs ?? endMs };
    });
}
