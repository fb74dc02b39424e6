/** An experiment is a row: one sentence, and how it is played on a stage. */
import type { Bilingual, Judged } from './result.ts';
import type { Stage } from './stage.ts';

export interface Experiment<Options extends object, Own = unknown> {
  /** One sentence. */
  readonly about: Bilingual;
  play(stage: Stage, options: Options): Promise<Judged<Own>>;
  /** What it has when Ctrl-C ends it, beside what the stage has seen. */
  soFar?(): Partial<Judged<Own>>;
}
