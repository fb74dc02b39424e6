/** A lease by the clock that its owner can renew. A renewal that fails loses the lease. */
import { LeaseLost } from '../../errors.ts';
import type { Lease } from '../lock.ts';
import { Expiry, leaseOf, once } from './leases.ts';

/**
 * @param ask asks the lock service to renew the lease by `leaseMs`. It returns for how long the
 * lease is now valid, in milliseconds; null: the owner has lost it.
 */
export function renewableLease(
  resource: string,
  validMs: number,
  ask: (leaseMs: number) => Promise<number | null>,
  giveBack: () => Promise<void>,
): Lease {
  const expiry = new Expiry(resource, validMs);
  const release = once(async () => {
    expiry.stop();
    await giveBack();
  });
  const parts = { signal: expiry.signal, remainingMs: () => expiry.remainingMs(), release };
  const lease = leaseOf(parts, () => expiry.error());

  async function renew(leaseMs: number): Promise<void> {
    lease.assertHeld();
    try {
      const renewedMs = await ask(leaseMs);
      lease.assertHeld(); // The answer may have come after the end.
      if (renewedMs === null) throw expiry.error('the lock service does not have it any more');
      expiry.renew(renewedMs);
    } catch (error) {
      const lost = asLost(error);
      expiry.lose(lost);
      release().catch(() => {}); // Its owner's release has the same result.
      throw lost;
    }
  }

  const asLost = (error: unknown): LeaseLost =>
    error instanceof LeaseLost ? error : expiry.error('its renewal failed: see the cause', error);

  return { ...lease, renew };
}
