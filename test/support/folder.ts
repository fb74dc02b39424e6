/** A folder of its own for a test, removed when it is over. */
import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { newDataFolder } from './data-home.ts';

export function someFolder(): string {
  const folder = newDataFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
