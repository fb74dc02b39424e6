/** A change of a voucher whose process dies, or stands still, in the middle of it. */
import { expect } from 'vitest';
import { type CheckpointName, installGate } from '../../src/service/trace/checkpoints.ts';

/** Stops it at this place: what it has done stays, and it does no more. */
export async function dieAt(place: CheckpointName, change: () => Promise<unknown>): Promise<void> {
  installGate(async (reached) => {
    if (reached === place) throw new Error(`died at ${place}`);
  });
  try {
    await expect(change()).rejects.toThrow('is begun, and not finished');
  } finally {
    installGate(() => Promise.resolve());
  }
}

/** The next change stands still at this place: `asleep` resolves there, and `wake` ends it. */
export function standStillAt(place: CheckpointName) {
  const asleep = Promise.withResolvers<void>();
  const woken = Promise.withResolvers<void>();
  installGate(async (reached) => {
    if (reached !== place) return;
    installGate(() => Promise.resolve());
    asleep.resolve();
    await woken.promise;
  });
  return { asleep: asleep.promise, wake: woken.resolve };
}
