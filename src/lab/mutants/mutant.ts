/** The contract of every mutant: the final rung with one defence removed. */
import type { CheckName } from '../../service/domain.ts';
import type { TrialName } from './trials.ts';

/** A check of the audit; or that every accepted order leaves the queue, which the audit awaits. */
export type TrialCheck = CheckName | 'orders-settle';

/** One change of the compiled service, or of a script. */
export interface CodeChange {
  /** The file: its path in src/ without the extension, or from the project's folder in lua/. */
  readonly file: string;
  /** The text that is replaced. It must be there once; how it is broken into lines is free. */
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  /** The defence that is removed, for people. */
  readonly defence: string;
  /** The fault that the defence is for. */
  readonly trial: TrialName;
  readonly turnsRed: TrialCheck;
  readonly code?: CodeChange;
  /** Settings of redis-main that are changed before the trial. */
  readonly redis?: Readonly<Record<string, string>>;
}
