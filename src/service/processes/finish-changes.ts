/** An order worker finishes the changes of vouchers that another process has left half-way. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { finishChanges } from '../orders/voucher-changes.ts';

const everyMs = 1_000;
/** Longer than a change takes: its own process is not disturbed. */
const ageMsMin = 1_500;

/** Until `signal` aborts. Several workers may do it: a change may be repeated. */
export async function keepFinishingChanges(
  connections: Connections,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  let said = '';
  while (!signal.aborted) {
    await sleep(everyMs * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(() => {});
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
