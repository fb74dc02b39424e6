/** The queues in the memory of an instance: only the instance itself can consume them. */

import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { ownQueueRungs } from '../ladder/factories.ts';
import type { OpenRung } from '../ladder/open-rung.ts';
import { allowedRungs } from '../ladder/rungs.ts';
import { workOrders } from '../orders/order-worker.ts';

interface OpenService {
  readonly connections: Connections;
  readonly log: Logger;
  readonly openRung: (voucher: { readonly rung: string }) => OpenRung | Promise<OpenRung>;
}

/** Runs until `signal` aborts and the orders that wait in memory are recorded. */
export async function consumeOwnQueues(
  { connections, log, openRung }: OpenService,
  signal: AbortSignal,
): Promise<void> {
  const rungs = ownQueueRungs(allowedRungs(connections.config.ALLOWED_RUNGS));
  const opened = await Promise.all(rungs.map((rung) => openRung({ rung })));
  await Promise.all(
    opened.map(({ queue }) => queue && workOrders(connections, queue, log, signal)),
  );
}
