/** A change of a voucher whose process dies in the middle of it. */
import { expect } from 'vitest';
import { type CheckpointName, installGate } from '../../src/trace/checkpoints.ts';

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
