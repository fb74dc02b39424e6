/**
 * A process that runs and does nothing is worse than one that has ended: no supervisor replaces it.
 * So it looks at itself, and ends when it makes no progress although its stores answer on new
 * connections. While a store is away, it waits: a new process could do no more.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { onNewConnections, takesPurchases } from '../connections/probes.ts';
import { type LockstepError, serviceError } from '../errors.ts';

/** EX_TEMPFAIL of sysexits.h: a new start may succeed. */
const stuckExitCode = 75;

/** @param sinceMs the time since the last look. @returns why the process is stuck, or null. */
export type Look = (sinceMs: number) => Promise<LockstepError | null>;

/**
 * The time for which something makes no progress although it may work: its stores answer, and Redis
 * is not being rebuilt. Null when it may not. The first look only starts it: after an outage, the
 * connections need a moment to come back.
 */
export function stuckFor(soFarMs: number | null, sinceMs: number, mayWork: boolean): number | null {
  if (!mayWork) return null;
  return soFarMs === null ? 0 : soFarMs + sinceMs;
}

/** Looks every fourth of `withinMs`, until it is stuck or `signal` aborts. */
export async function watch(
  look: Look,
  withinMs: number,
  log: Logger,
  signal: AbortSignal,
): Promise<LockstepError | null> {
  const everyMs = withinMs / 4;
  const report = (error: unknown) => {
    log.error({ event: 'look-failed', error });
    return null;
  };
  let lookedAt = performance.now();
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {});
    // A process that was paused has not been stuck for that time.
    const sinceMs = Math.min(performance.now() - lookedAt, 2 * everyMs);
    lookedAt = performance.now();
    const problem = signal.aborted ? null : await look(sinceMs).catch(report);
    if (problem) return problem;
  }
  return null;
}

/** Sets the exit code and calls `end`, once the process is stuck. */
export async function endWhenStuck(
  watching: Promise<LockstepError | null>,
  log: Logger,
  end: () => void,
): Promise<void> {
  const problem = await watching;
  if (!problem) return;
  log.fatal({ event: 'stuck', code: problem.code, error: problem.message });
  process.exitCode = stuckExitCode;
  end();
}

/** At the connection of an instance's purchases, beside the purchases and not in their way. */
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
