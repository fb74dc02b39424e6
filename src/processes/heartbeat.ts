/**
 * One file for each consumer, written at each turn of its loop. A health check that finds an old
 * file has found a consumer that is stuck, although its process runs.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OnTurn } from '../queues/order-queue.ts';

/** @returns what writes the files; nothing is written when there is no folder. */
export function heartbeats(folder: string, instance: string): OnTurn {
  if (folder === '') return () => {};
  return (consumer) =>
    writeFileSync(join(folder, `${instance}-${consumer}.turn`), new Date().toISOString());
}
