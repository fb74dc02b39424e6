/** Once an hour, an order worker deletes the keys of sales that ended long ago from Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { removeEndedSales } from '../orders/ended-sales.ts';

const everyMs = 3_600_000;

/** Until `signal` aborts. Several workers may do it: what one has deleted, the others skip. */
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
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
