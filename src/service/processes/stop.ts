/** How a process stops: it ends, also when a store that it waits for never answers. */
import type { Logger } from 'pino';

/**
 * SIGTERM and SIGINT as an AbortSignal. An unhandled rejection also aborts it, and sets exit code
 * 1. An uncaught exception ends the process at once, with exit code 1.
 */
export function stopSignal(log: Logger): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.once(name, () => {
      log.info({ event: 'stopping', because: name });
      stop.abort();
    });
  process.once('unhandledRejection', (error) => {
    log.fatal({ event: 'unhandled-rejection', error });
    process.exitCode = 1;
    stop.abort();
  });
  process.once('uncaughtException', (error) => {
    log.fatal({ event: 'uncaught-exception', error });
    process.exit(1);
  });
  return stop.signal;
}

/** After the drain, to close what is open. Shorter than the primary waits before it kills. */
const closeWithinMs = 4_000;

/**
 * Ends the process once the stop is overdue, and logs what was still open. The exit code is 1, or
 * that of a process that ends because it is stuck.
 * @param drainMs how long the requests in flight, or the children, may take.
 */
export function endOnceOverdue(stop: AbortSignal, drainMs: number, log: Logger): void {
  const withinMs = drainMs + closeWithinMs;
  const end = () => {
    log.error({ event: 'stop-overdue', withinMs, open: process.getActiveResourcesInfo() });
    process.exit(process.exitCode ?? 1);
  };
  stop.addEventListener('abort', () => setTimeout(end, withinMs).unref(), { once: true });
}
