/** The contract of every trial: a sale, and a fault at the moment that decides. */
import type { CheckName } from '../../service/domain.ts';
import type { Bilingual } from '../stage/result.ts';
import type { TrialStage } from './trial-stage.ts';

export interface Trial {
  /** The fault, for people. */
  readonly fault: Bilingual;
  readonly stock: number;
  /** What the fault breaks on every rung, and so is not judged: the check, and why. */
  readonly breaks?: Readonly<Partial<Record<CheckName, string>>>;
  /** @throws when the moment that decides was not reached: then nothing is proven. */
  readonly play: (stage: TrialStage) => Promise<void>;
}
