/** What an order worker does beside its queues. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { removeEndedSales } from '../orders/ended-sales.ts';
import { finishChanges } from '../orders/voucher-changes.ts';

const finishEveryMs = 1_000;
/** Longer than a change takes: its own process is not disturbed. */
const ageMsMin = 1_500;

/**
 * Finishes the changes of vouchers that another process has left half-way, until `signal` aborts.
 * Several workers may do it: a change may be repeated.
 */
export async function keepFinishingChanges(
  connections: Connections,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  let said = '';
  while (!signal.aborted) {
    await sleep(finishEveryMs * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(
      () => {},
    );
    if (signal.aborted) return;
    await finishChanges(connections, { ageMsMin }).then(
      (vouchers) => {
        if (vouchers.length > 0) log.info({ event: 'voucher-changes-finished', vouchers });
        said = '';
      },
      (error: unknown) => {
        if (String(error) !== said)
          log.warn({ event: 'voucher-changes-wait', error: String(error) });
        said = String(error);
      },
    );
  }
}

const removeEveryMs = 3_600_000;

/**
 * Deletes the keys of sales that ended long ago from Redis, once an hour, until `signal` aborts.
 * Several workers may do it: what one has deleted, the others skip.
 */
export async function keepRemovingEndedSales(
  connections: Connections,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { ENDED_SALE_DAYS } = connections.config;
  if (ENDED_SALE_DAYS === 0) return;
  while (!signal.aborted) {
    await removeEndedSales(connections, ENDED_SALE_DAYS).then(
      ({ removed, waiting }) => {
        if (removed.length > 0) log.info({ event: 'ended-sales-removed', vouchers: removed });
        if (waiting.length > 0) log.warn({ event: 'ended-sales-wait', vouchers: waiting });
      },
      (error: unknown) => log.warn({ event: 'ended-sales-not-removed', error: String(error) }),
    );
    await sleep(removeEveryMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
