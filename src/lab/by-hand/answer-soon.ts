/** A query with a short timeout for live views: null when the server hangs. */
import { setTimeout as sleep } from 'node:timers/promises';

const withinMs = 1_000;

/** @returns null when it takes longer */
export const answerOrNull = <T>(answer: Promise<T>): Promise<T | null> =>
  Promise.race([answer, sleep(withinMs, null, { ref: false })]);
