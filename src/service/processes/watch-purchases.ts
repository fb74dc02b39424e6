/** Watches the connection of an instance's purchases, beside the purchases and not in their way. */

import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { onNewConnections, takesPurchases } from '../connections/probes.ts';
import { serviceError } from '../errors.ts';
import { type Look, stuckFor } from './watch.ts';

export function lookAtPurchases(connections: Connections, log: Logger): Look {
  const { config } = connections;
  let stuckMs: number | null = null;
  return async (sinceMs) => {
    if (await takesPurchases(connections)) {
      stuckMs = null;
      return null;
    }
    const doesRedisAnswer = await onNewConnections(config, log, async (opened) => {
      opened.redis('purchase');
      await opened.ready();
      return takesPurchases(opened);
    });
    stuckMs = stuckFor(stuckMs, sinceMs, doesRedisAnswer);
    log.warn({ event: 'purchases-not-answered', doesRedisAnswer, stuckMs });
    if (stuckMs === null || stuckMs < config.PROGRESS_WITHIN_MS) return null;
    return serviceError('NO_PROGRESS', 'The connection of the purchases', stuckMs);
  };
}
