/** What a process counts: series that begin at 0, and the waits for locks that end without one. */
import { expect, test } from 'vitest';
import { withMeasuredWaits } from '../../src/service/ladder/open-rung.ts';
import { noLock } from '../../src/service/locks/none.ts';
import { countPurchase } from '../../src/service/metrics/purchases.ts';
import { valueOfSeries } from '../support/basics.ts';

test('each outcome of a rung is there at 0 once the rung has sold', async () => {
  const of = (outcome: string) =>
    valueOfSeries(`lockstep_purchases_total{rung="some",outcome="${outcome}"}`);
  expect(await of('lease-lost')).toBeNull();
  countPurchase('some', { kind: 'refused', reason: 'sold-out' }, 1);
  expect([await of('sold-out'), await of('accepted'), await of('lease-lost')]).toEqual([1, 0, 0]);
  expect(await of('sold-out')).toBe(1); // It is not counted again when somebody asks again.
});

test('a wait for a lock is counted, whether it was granted or not', async () => {
  const count = (isGranted: boolean) =>
    valueOfSeries(`lockstep_lock_wait_seconds_count{rung="some",granted="${isGranted}"}`);
  const lock = noLock();
  const lease = await withMeasuredWaits('some', lock).acquire('a', { waitMs: 1 });
  expect(lease).not.toBeNull();
  const denied = { ...lock, acquire: async () => null };
  expect(await withMeasuredWaits('some', denied).acquire('a', { waitMs: 1 })).toBeNull();
  expect([await count(true), await count(false)]).toEqual([1, 1]);
});
