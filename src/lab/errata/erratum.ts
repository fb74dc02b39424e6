/** The contract of every erratum: a sentence of the course notes, and a play of what is so. */
import type { Bilingual } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';

export interface Erratum {
  /** What the notes say or do. */
  readonly says: Bilingual;
  /** What is so. */
  readonly truth: Bilingual;
  /** Sends to the real servers what the notes would, and tells what they answered. */
  play(stage: Stage, tell: Tell): Promise<IsShown>;
}

/** One line of what was sent, and what came back, in both languages. */
export type Tell = (en: string, zh: string) => void;

/** False: the servers did not do what `truth` says. */
export type IsShown = boolean;

/** What a command was refused with; null when it was not. */
export const refusalOf = (sent: Promise<unknown>): Promise<string | null> =>
  sent.then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
