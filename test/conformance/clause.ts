/** One thing that a lock must do, as a black box: servers and contenders, and what was measured. */
import type { Reason } from '../../src/service/ladder/rung.ts';
import type { Field } from './field.ts';
import type { Needs, Subject } from './subject.ts';

/** `skipped`: the clause is not about this kind of lock. */
export type ClauseVerdict = 'held' | 'broken' | 'unknown' | 'skipped';

export interface Finding {
  readonly verdict: ClauseVerdict;
  /** What was measured, or why it could not be. */
  readonly measured: string;
}

export interface Clause {
  readonly name: string;
  /** The head of its column. */
  readonly head: string;
  /** One sentence. */
  readonly proves: string;
  /** The locks that it is about; all without it. */
  readonly about?: readonly Needs[];
  /** A lock of the ladder that claims one of these must break the clause. */
  readonly brokenBy?: readonly Reason[];
  run(subject: Subject, field: Field): Promise<Finding>;
}

export const held = (measured: string): Finding => ({ verdict: 'held', measured });
export const broken = (measured: string): Finding => ({ verdict: 'broken', measured });
export const notKnown = (measured: string): Finding => ({ verdict: 'unknown', measured });
export const skipped = (measured: string): Finding => ({ verdict: 'skipped', measured });

/** `812 ms`, `12.0 s`. */
export const duration = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;

/** The sentence of an error, cut to one line. */
export const sentenceOf = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error))
    .split('\n')[0]
    ?.slice(0, 120) ?? '';
