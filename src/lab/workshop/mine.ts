/** The learner's files: for each exercise a folder in workshop/ with those that it changes. */

import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { labError } from '../errors.ts';
import { changedText, fileOfChange, projectFolder } from '../mutants/change.ts';
import type { Exercise } from './exercises.ts';

/** From the project's folder. */
export const filesOf = ({ changes }: Exercise): string[] => [
  ...new Set(changes.map((change) => fileOfChange(change, 'src'))),
];

/** What a person wrote is never overwritten: a folder that is begun anew is renamed. */
export class Mine {
  /** A copy of the project with the learner's files, and its lab. */
  readonly copyFolder: string;
  readonly #home: string;
  readonly #nameFile: string;

  constructor(home: string) {
    this.copyFolder = join(home, '.lockstep', 'workshop');
    this.#home = join(home, 'workshop');
    this.#nameFile = join(this.#home, 'begun');
  }

  folderOf(name: string): string {
    return join(this.#home, name.replace(' ', '-'));
  }

  isBegun(name: string): boolean {
    return existsSync(this.folderOf(name));
  }

  /** Files that are there stay. */
  begin(name: string, exercise: Exercise): void {
    this.#fill(name, exercise, (path) => startOf(name, exercise, path));
  }

  /** The files as the project has them. */
  solve(name: string, exercise: Exercise): void {
    this.#fill(name, exercise, original);
  }

  /** @returns where its files are from now on; null when there are none */
  putAside(name: string): string | null {
    return folderPutAside(this.folderOf(name));
  }

  /** @throws NO_EXERCISE */
  name(): string {
    const name = this.begun();
    if (name === null) throw labError('NO_EXERCISE');
    return name;
  }

  /** The one that was begun last; null before one was. */
  begun(): string | null {
    return existsSync(this.#nameFile) ? readFileSync(this.#nameFile, 'utf8').trim() : null;
  }

  /** Over those of a copy of the project. */
  copyInto(folder: string, name: string, exercise: Exercise): void {
    this.begin(name, exercise); // One that was removed would be the solution.
    for (const path of filesOf(exercise))
      cpSync(join(this.folderOf(name), path), join(folder, path));
  }

  /** @returns where the files of this group are from now on; null when it has none */
  reset(): string | null {
    return folderPutAside(this.#home);
  }

  #fill(name: string, exercise: Exercise, text: (path: string) => string): void {
    for (const path of filesOf(exercise)) {
      const file = join(this.folderOf(name), path);
      mkdirSync(dirname(file), { recursive: true });
      if (!existsSync(file)) writeFileSync(file, text(path));
    }
    writeFileSync(this.#nameFile, `${name}\n`);
  }
}

function folderPutAside(folder: string): string | null {
  if (!existsSync(folder)) return null;
  let number = 1;
  while (existsSync(`${folder}-before-${number}`)) number += 1;
  renameSync(folder, `${folder}-before-${number}`);
  return `${folder}-before-${number}`;
}

const original = (path: string): string => readFileSync(join(projectFolder, path), 'utf8');

/** @throws MUTANT_TEXT_MISSING */
export function startOf(name: string, { changes }: Exercise, path: string): string {
  const own = changes.filter((change) => fileOfChange(change, 'src') === path);
  return own.reduce((text, change) => changedText(name, text, change), original(path));
}
