/** `lockstep` as people call it, in the lab of this worker: what it prints, and its exit code. */
import { execa } from 'execa';
import { ownLab } from './own-lab.ts';

const program = new URL('../../scripts/lockstep.mjs', import.meta.url).pathname;

export const lockstep = (...words: readonly string[]) => lockstepWith({}, ...words);

/** With these variables, too. */
export const lockstepWith = (
  variables: Readonly<Record<string, string>>,
  ...words: readonly string[]
) =>
  execa('node', [program, ...words], {
    env: { LOCKSTEP_LAB: ownLab.folder, ...variables },
    reject: false,
  });
