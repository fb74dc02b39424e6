/** The learner's files, in workshop/mine/: those that an exercise changes, and which one it is. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NoExercise } from '../errors.ts';
import { changedText, fileOfChange } from '../mutants/changed-copy.ts';
import type { Exercise } from './exercise.ts';

export const projectFolder = fileURLToPath(new URL('../../../', import.meta.url));

/** From the project's folder. */
export const filesOf = ({ changes }: Exercise): string[] => [
  ...new Set(changes.map((change) => fileOfChange(change, 'src'))),
];

export class Mine {
  readonly folder: string;
  /** The files of the exercise before. */
  readonly beforeFolder: string;
  /** A copy of the project with these files, and its lab. */
  readonly copyFolder: string;
  readonly #nameFile: string;

  constructor(home: string) {
    this.folder = join(home, 'workshop', 'mine');
    this.beforeFolder = join(home, 'workshop', 'before');
    this.copyFolder = join(home, '.lockstep', 'workshop');
    this.#nameFile = join(this.folder, 'exercise');
  }

  /** What was there before is kept beside it, once. */
  begin(name: string, exercise: Exercise): void {
    if (this.begun() !== null) {
      rmSync(this.beforeFolder, { recursive: true, force: true });
      renameSync(this.folder, this.beforeFolder);
    }
    for (const path of filesOf(exercise)) this.#write(path, startOf(name, exercise, path));
    writeFileSync(this.#nameFile, `${name}\n`);
  }

  /** The files as the project has them. */
  solve(exercise: Exercise): void {
    for (const path of filesOf(exercise)) this.#write(path, original(path));
  }

  /** @throws NoExercise */
  name(): string {
    const name = this.begun();
    if (name === null) throw new NoExercise();
    return name;
  }

  /** Its name; null before one was. */
  begun(): string | null {
    return existsSync(this.#nameFile) ? readFileSync(this.#nameFile, 'utf8').trim() : null;
  }

  /** Over those of a copy of the project. */
  copyInto(folder: string, exercise: Exercise): void {
    for (const path of filesOf(exercise)) cpSync(join(this.folder, path), join(folder, path));
  }

  reset(): void {
    for (const folder of [this.folder, this.beforeFolder])
      rmSync(folder, { recursive: true, force: true });
  }

  #write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

const original = (path: string): string => readFileSync(join(projectFolder, path), 'utf8');

/** @throws MutantTextMissing */
export function startOf(name: string, { changes }: Exercise, path: string): string {
  const own = changes.filter((change) => fileOfChange(change, 'src') === path);
  return own.reduce((text, change) => changedText(name, text, change), original(path));
}
