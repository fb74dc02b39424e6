/**
 * Compares Redis and MySQL again and again while sales go on, and says what differs. Several
 * processes may do it: one at a time has the lock.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { withMysqlLock } from '../connections/mysql-pool.ts';
import { countFailedReconciliation, countReconciliation } from '../metrics/reconciliation.ts';
import { identities } from '../orders/reconcile/differences.ts';
import { type Reconciliation, reconcile } from '../orders/reconcile/reconcile.ts';
import { differenceText } from '../orders/reconcile/reconcile-command.ts';

/** Reading both stores costs them time: a large sale is compared less often. */
const restPerWork = 10;

/** Until `signal` aborts. */
export async function keepReconciling(
  connections: Connections,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { MYSQL_URL, RECONCILE_EVERY_MS } = connections.config;
  if (RECONCILE_EVERY_MS === 0) return;
  const say = sayOnce(log);
  while (!signal.aborted) {
    const begunAt = performance.now();
    try {
      const found = await withMysqlLock(MYSQL_URL, 'lockstep-reconcile', () =>
        reconcile(connections),
      );
      if (found) countReconciliation(countsOf(found), performance.now() - begunAt);
      if (found) say(found);
    } catch (error) {
      countFailedReconciliation();
      log.warn({ event: 'not-reconciled', error: String(error) });
    }
    const tookMs = performance.now() - begunAt;
    const restMs = Math.max(RECONCILE_EVERY_MS - tookMs, restPerWork * tookMs);
    await sleep(restMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

function countsOf({ vouchers }: Reconciliation): Record<string, number> {
  const found = vouchers.flatMap(({ differences }) => differences);
  const count = (of: string) => found.filter(({ identity }) => identity === of).length;
  return Object.fromEntries(identities.map((each) => [each, count(each)]));
}

/** What is found again is not said again. */
function sayOnce(log: Logger): (found: Reconciliation) => void {
  let said = '';
  return ({ verdict, vouchers }) => {
    const differing = vouchers.filter(({ differences }) => differences.length > 0);
    const text = differing.map(
      ({ voucherId, differences: [first, ...more] }) =>
        `voucher ${voucherId}: ${first && differenceText(first)}${more.length > 0 ? `, and ${more.length} more` : ''}`,
    );
    const now = verdict === 'inconsistent' ? text.join('; ') : '';
    if (now !== said && now !== '') log.error({ event: 'stores-differ', differences: text });
    if (now !== said && now === '') log.info({ event: 'stores-agree' });
    if (verdict !== 'unknown') said = now;
  };
}
