/** `runs/<time>-<name>/`: the files that a command leaves. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

export const timeStamp = (): string =>
  new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '');

/** `latest` beside the new folder points at it. @returns the folder's path. */
export function newFolder(root: string, name: string): string {
  const folder = join(root, `${timeStamp()}-${name}`);
  mkdirSync(folder, { recursive: true });
  rmSync(join(root, 'latest'), { force: true });
  symlinkSync(basename(folder), join(root, 'latest'));
  return folder;
}

/** Files by name; objects are written as JSON. */
export function writeFiles(folder: string, files: Readonly<Record<string, unknown>>): void {
  for (const [file, content] of Object.entries(files)) {
    const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
    writeFileSync(join(folder, file), `${text.trim()}\n`);
  }
}

/** A new folder with these files. @returns its path. */
export function writeFolder(
  root: string,
  name: string,
  files: Readonly<Record<string, unknown>>,
): string {
  const folder = newFolder(root, name);
  writeFiles(folder, files);
  return folder;
}
