/** A process that is told to stop ends, also when a store that it waits for never answers. */
import type { Logger } from 'pino';

/** After the drain, to close what is open. Shorter than the primary waits before it kills. */
const closeWithinMs = 4_000;

/**
 * Ends the process with exit code 1 once the stop is overdue, and logs what was still open.
 * @param drainMs how long the requests in flight, or the children, may take.
 */
export function endOnceOverdue(stop: AbortSignal, drainMs: number, log: Logger): void {
  const withinMs = drainMs + closeWithinMs;
  const end = () => {
    log.error({ event: 'stop-overdue', withinMs, open: process.getActiveResourcesInfo() });
    process.exit(1);
  };
  stop.addEventListener('abort', () => setTimeout(end, withinMs).unref(), { once: true });
}
