/** `lockstep` as people call it, in the lab of this worker unless the settings name another. */
import { execa } from 'execa';
import { ownLab } from './own-lab.ts';

const program = new URL('../../scripts/lockstep.mjs', import.meta.url).pathname;

export const lockstepWith =
  (settings: Readonly<Record<string, string>> = {}) =>
  (...words: readonly string[]) => {
    const env = { LOCKSTEP_LAB: ownLab.folder, ...settings };
    return execa('node', [program, ...words], { env, reject: false });
  };
