/** A copy of the compiled service in a temporary folder, with one change. */

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { labError } from '../errors.ts';
import type { CodeChange } from './mutant.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The file of a change: in src/, in dist/ or in lua/. */
export function fileOfChange({ file }: CodeChange, code: 'src' | 'dist'): string {
  if (file.startsWith('lua/')) return file;
  return code === 'src' ? `src/${file}.ts` : `dist/${file}.js`;
}

/** @throws MUTANT_TEXT_MISSING when the text is not there exactly once. */
export function changedText(
  name: string,
  text: string,
  { file, find, replace }: CodeChange,
): string {
  const words = find.trim().split(/\s+/);
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+');
  const places = [...text.matchAll(new RegExp(pattern, 'g'))];
  if (places.length !== 1) throw labError('MUTANT_TEXT_MISSING', name, file, places.length, find);
  return text.replace(places[0]?.[0] ?? '', () => replace);
}

/** @throws MUTANT_TEXT_MISSING */
export function checkChange(name: string, change: CodeChange): void {
  changedText(name, readFileSync(join(root, fileOfChange(change, 'dist')), 'utf8'), change);
}

const isNeeded = (path: string): boolean => !path.endsWith('.map');

export interface ChangedCopy {
  readonly folder: string;
  remove(): void;
}

const folders = new Set<string>();
const removeAll = () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
};

/** @throws MUTANT_TEXT_MISSING */
export function changedCopy(name: string, change: CodeChange): ChangedCopy {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-mutant-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (folders.size === 0) process.once('exit', removeAll); // Also after Ctrl-C.
  folders.add(folder);
  try {
    for (const part of ['dist', 'lua', 'package.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true, filter: isNeeded });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const file = join(folder, fileOfChange(change, 'dist'));
    writeFileSync(file, changedText(name, readFileSync(file, 'utf8'), change));
    return { folder, remove };
  } catch (error) {
    remove();
    throw error;
  }
}
