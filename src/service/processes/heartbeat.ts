/**
 * One file for each consumer, written whenever it makes progress. A health check that finds an old
 * file has found a consumer that records nothing although orders wait, or that is stuck.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @returns what writes the files; nothing is written when there is no folder. */
export function heartbeats(
  folder: string,
  instance: string,
): (queue: number, consumer: number) => void {
  if (folder === '') return () => {};
  return (queue, consumer) => {
    const file = join(folder, `${instance}-${queue}-${consumer}.progress`);
    writeFileSync(file, new Date().toISOString());
  };
}
