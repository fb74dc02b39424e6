/**
 * A witness of mutual exclusion that knows no lock: files. A section leaves a mark in its key's
 * folder while it is inside, and adds one to a counter by reading, waiting and writing.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Witness {
  /** @returns the sections that are inside already, and the counter. */
  enter(
    key: string,
    section: string,
  ): { readonly beside: readonly string[]; readonly read: number };
  /** @returns the new count */
  write(key: string, section: string, read: number): number;
  leave(key: string, section: string): void;
}

export const marksFolder = (folder: string, key: string): string => join(folder, key, 'inside');

/** 0 until somebody has written. */
export function countOf(folder: string, key: string): number {
  try {
    return Number(readFileSync(join(folder, key, 'counter'), 'utf8'));
  } catch {
    return 0;
  }
}

export function openWitness(folder: string): Witness {
  const inside = (key: string) => marksFolder(folder, key);
  return {
    // The mark comes before the look: of two sections that enter together, one sees the other.
    enter: (key, section) => {
      mkdirSync(inside(key), { recursive: true });
      writeFileSync(join(inside(key), section), '');
      const beside = readdirSync(inside(key)).filter((other) => other !== section);
      return { beside, read: countOf(folder, key) };
    },
    // By a rename, so that no reader sees half of it.
    write: (key, section, read) => {
      writeFileSync(join(folder, section), String(read + 1));
      renameSync(join(folder, section), join(folder, key, 'counter'));
      return read + 1;
    },
    leave: (key, section) => rmSync(join(inside(key), section), { force: true }),
  };
}
