/** The sentences of the ladder in one language: complete by type. */
import type { CheckName } from '../../domain.ts';
import type { Reason } from '../reasons.ts';
import type { Circumstance, Rung } from '../rung.ts';
import type { RungName } from '../rungs.ts';

export interface RungText {
  /** What the rung does. */
  readonly idea: string;
  /** What a learner should take from it. */
  readonly lesson: string;
}

export interface LadderText {
  readonly chapters: Readonly<Record<Rung['chapter'], string>>;
  readonly rungs: Readonly<Record<RungName, RungText>>;
  readonly checks: Readonly<Record<CheckName, string>>;
  readonly circumstances: Readonly<Record<Circumstance, string>>;
  readonly reasons: Readonly<Record<Reason, string>>;
}
