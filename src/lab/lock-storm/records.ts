/**
 * What the contenders of a lock storm wrote down, what was done to them, and what a witness saw. In
 * milliseconds.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Written<Event extends string> {
  /** By the clock that all processes of the machine share. */
  readonly at: number;
  readonly process: string;
  readonly event: Event;
  readonly key: string;
}

interface InLane<Event extends string> extends Written<Event> {
  readonly lane: number;
}

export interface EntryRecord extends InLane<'entered'> {
  readonly style: string;
  readonly section: string;
  /** When its lane asked for the lock. */
  readonly asked: number;
  /** The sections that were inside already. */
  readonly beside: readonly string[];
  /** The counter. */
  readonly read: number;
}

export interface ExitRecord extends InLane<'left'> {
  readonly section: string;
  /** Null: the lease was lost, so it wrote nothing. */
  readonly wrote: number | null;
}

export type StormRecord =
  | (InLane<'asked'> & { readonly style: string })
  | EntryRecord
  | ExitRecord
  | (InLane<'refused' | 'release-failed'> & { readonly reason: string })
  | InLane<'released' | 're-entry-refused'>
  | (Written<'client'> & { readonly client: string })
  | (Written<'tried'> & { readonly granted: boolean });

export interface Period {
  readonly from: number;
  readonly to: number;
}

export interface StormFaults {
  /** SIGSTOP until SIGCONT. */
  readonly stops: readonly (Period & { readonly process: string })[];
  /** kill -9. */
  readonly kills: readonly { readonly process: string; readonly at: number }[];
  /** What each key's counter says in the end. */
  readonly counters: ReadonlyMap<string, number>;
  /** While connections broke. */
  readonly disconnections: readonly Period[];
  /** Keys beside which no waiter may sleep when they are free. */
  readonly sleepless: ReadonlySet<string>;
  /** Long enough after the last fault, and before the next. */
  readonly calm: readonly Period[];
}

/** The clock of the records. */
export const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Of all processes, in the order of time. */
export function readRecords(folder: string): StormRecord[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.jsonl'));
  const names = files.map((file) => file.replace('.jsonl', ''));
  return names.flatMap((name) => recordsOf(folder, name)).sort((one, other) => one.at - other.at);
}

export const recordsOf = (folder: string, process: string): StormRecord[] =>
  readFileSync(join(folder, `${process}.jsonl`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StormRecord);

export const marksFolder = (folder: string, key: string): string => join(folder, key, 'inside');

/** 0 until somebody has written. */
export function countOf(folder: string, key: string): number {
  try {
    return Number(readFileSync(join(folder, key, 'counter'), 'utf8'));
  } catch {
    return 0;
  }
}

/**
 * A witness of mutual exclusion that knows no lock: files. A section leaves a mark in its key's
 * folder while it is inside, and adds one to a counter by reading, waiting and writing.
 */
export function openWitness(folder: string) {
  const inside = (key: string) => marksFolder(folder, key);
  return {
    /**
     * The mark comes before the look: of two sections that enter together, one sees the other.
     * @returns the sections that are inside already, and the counter
     */
    enter: (key: string, section: string) => {
      mkdirSync(inside(key), { recursive: true });
      writeFileSync(join(inside(key), section), '');
      const beside = readdirSync(inside(key)).filter((other) => other !== section);
      return { beside, read: countOf(folder, key) };
    },
    /** By a rename, so that no reader sees half of it. @returns the new count */
    write: (key: string, section: string, read: number) => {
      writeFileSync(join(folder, section), String(read + 1));
      renameSync(join(folder, section), join(folder, key, 'counter'));
      return read + 1;
    },
    leave: (key: string, section: string) => rmSync(join(inside(key), section), { force: true }),
  };
}
