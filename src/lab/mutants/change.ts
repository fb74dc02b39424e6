/**
 * A change of the code, and the copy of the project that has it: a mutant, an exercise or a bug
 * hunt is a change that must turn something red.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { labError } from '../errors.ts';

export interface Change {
  /** The file: its path in src/ without the extension, or from the project's folder in lua/. */
  readonly file: string;
  /** The text that is replaced. It must be there once; how it is broken into lines is free. */
  readonly find: string;
  /** Nothing, unless it is given. */
  readonly replace?: string;
}

export const projectFolder = fileURLToPath(new URL('../../../', import.meta.url));

/** The file of a change: in src/, in dist/ or in lua/. */
export function fileOfChange({ file }: Change, code: 'src' | 'dist'): string {
  if (file.startsWith('lua/')) return file;
  return code === 'src' ? `src/${file}.ts` : `dist/${file}.js`;
}

/** @throws MUTANT_TEXT_MISSING when the text is not there exactly once. */
export function changedText(name: string, text: string, change: Change): string {
  const { file, find, replace = '' } = change;
  const words = find.trim().split(/\s+/);
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+');
  const places = [...text.matchAll(new RegExp(pattern, 'g'))];
  if (places.length !== 1) throw labError('MUTANT_TEXT_MISSING', name, file, places.length, find);
  return text.replace(places[0]?.[0] ?? '', () => replace);
}

/** @throws MUTANT_TEXT_MISSING */
export function checkChange(name: string, change: Change): void {
  const file = join(projectFolder, fileOfChange(change, 'dist'));
  changedText(name, readFileSync(file, 'utf8'), change);
}

const isNeeded = (path: string): boolean => !path.endsWith('.map');

/** Copies these files and folders of the project, and what every copy needs. */
export function copyProject(folder: string, names: readonly string[]): void {
  for (const name of ['lua', 'package.json', ...names])
    cpSync(join(projectFolder, name), join(folder, name), { recursive: true, filter: isNeeded });
  symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'));
}

/** What is not used is no error. */
export const halfDone = ['--noUnusedLocals', 'false', '--noUnusedParameters', 'false'];

/** Its reports show the page of the original. @throws CANNOT_COMPILE */
export async function compileCopy(folder: string, options: readonly string[] = []): Promise<void> {
  const tsc = join(projectFolder, 'node_modules/.bin/tsc');
  const { exitCode, stdout } = await execa(tsc, options, { cwd: folder, reject: false });
  if (exitCode !== 0) throw labError('CANNOT_COMPILE', stdout);
  const page = 'dist/page/client';
  cpSync(join(projectFolder, page), join(folder, page), { recursive: true });
}

export interface ChangedCopy {
  readonly folder: string;
  remove(): void;
}

const folders = new Set<string>();
const removeAll = () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
};

/** Of the compiled service, in a temporary folder. @throws MUTANT_TEXT_MISSING */
export function changedCopy(name: string, change: Change): ChangedCopy {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-mutant-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (folders.size === 0) process.once('exit', removeAll); // Also after Ctrl-C.
  folders.add(folder);
  try {
    copyProject(folder, ['dist']);
    const file = join(folder, fileOfChange(change, 'dist'));
    writeFileSync(file, changedText(name, readFileSync(file, 'utf8'), change));
    return { folder, remove };
  } catch (error) {
    remove();
    throw error;
  }
}
